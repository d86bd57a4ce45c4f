import type { ConfiguredWallet } from '../../contract/wallets-file/read-wallets-file.ts';
import { rpcService } from '../../contract/rpc-service.ts';
import { WalletRefunds, WalletService } from '../../gen/gatehouse/v1/wallet_service_pb.js';
import type { RpcService } from '../../platform/rpc/rpc-service.ts';
import { environmentNumbers } from '../rpc/environment.ts';
import type { Wallet } from '../domain/wallet.ts';
import { Money } from '../domain/money.ts';

/** gatehouse.v1.WalletService. `wallets` are the `configured` ones in the same order. */
export function walletService(
  configured: readonly ConfiguredWallet[],
  wallets: readonly Wallet[],
): RpcService {
  const answer = {
    wallets: wallets.flatMap((wallet, index) => {
      const entry = configured[index];
      return entry === undefined ? [] : [walletMessage(entry, wallet)];
    }),
  };
  return rpcService(
    WalletService,
    { listWallets: () => answer },
    { listWallets: ['facade', 'checkout', 'wallets', 'dashboard', 'operator', 'writer', 'reader'] },
  );
}

const refundNumbers = {
  none: WalletRefunds.NONE,
  whole: WalletRefunds.WHOLE,
  any: WalletRefunds.ANY_PART,
} as const;

function walletMessage(
  entry: ConfiguredWallet,
  { id, options, environments, currencies, reconcile, refunds }: Wallet,
) {
  const environmentMessages = environments.map((environment) => environmentNumbers[environment]);
  return {
    wallet: id,
    englishName: entry.names.en,
    amharicName: entry.names.am,
    paymentOptions: [...options],
    currencies: currencies.map(
      ({ currency, leastMinorUnits: least, greatestMinorUnits: greatest, decimals }) => ({
        currency: currency.code,
        leastAmount: least === undefined ? '' : Money.formatMinorUnits(least, currency),
        greatestAmount: greatest === undefined ? '' : Money.formatMinorUnits(greatest, currency),
        decimals,
      }),
    ),
    phonePrefixes: entry.phone_prefixes ?? [],
    environments: environmentMessages,
    reconciledEnvironments: reconcile ? environmentMessages : [],
    connector: entry.connector,
    refunds: refundNumbers[refunds],
    logo: entry.logoFile?.bytes ?? new Uint8Array(),
    logoMediaType: entry.logoFile?.mediaType ?? '',
  };
}
