import { noMerchantId } from '../contract/public-id.ts';
import { CliError, exitCodes } from './cli-error.ts';
import type { CoreClients } from './core-clients.ts';
import { collectPages, isEmptyList } from './paging.ts';

/** The merchant and the wallet in the filters of a list; empty for all. */
interface Named {
  readonly merchantId?: string;
  readonly wallet?: string;
}

type Clients = Pick<CoreClients, 'merchants' | 'wallets'>;

/**
 * Checks the names in the filters of a list in which nothing was found. Otherwise a mistyped name would look like an empty list.
 * @throws ConnectError MERCHANT_NOT_FOUND, and CliError for a wallet that is not configured
 */
export async function requireKnown(
  { merchants, wallets }: Clients,
  { merchantId = '', wallet = '' }: Named,
): Promise<void> {
  if (merchantId !== '' && merchantId !== noMerchantId) await merchants.getMerchant({ merchantId });
  if (wallet === '') return;
  const { wallets: configured } = await wallets.listWallets({});
  if (configured.some(({ wallet: known }) => known === wallet)) return;
  throw new CliError(
    exitCodes.notFound,
    `the wallet ${wallet} is not configured, and no entry of this list names it`,
    'See the wallets: gatehouse wallet list',
  );
}

/** As `collectPages`, for a list with filters. @throws as `requireKnown`, if the list is empty */
export async function collectKnown<Item>(
  clients: Clients,
  named: Named,
  ...[options, readPage]: Parameters<typeof collectPages<Item>>
): ReturnType<typeof collectPages<Item>> {
  const page = await collectPages(options, readPage);
  if (isEmptyList(page, options)) await requireKnown(clients, named);
  return page;
}
