import { LockMode } from '@mikro-orm/postgresql';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { NewId, PublicId, StoredId } from '../../contract/public-id.ts';
import { storedId } from '../../contract/public-id.ts';
import type { Actor } from '../../platform/rpc/actor.ts';
import { MerchantRow } from '../database/merchant-entities.ts';
import { PayeeAccountRow, WalletAccountRow } from '../database/wallet-account-entity.ts';
import { wasAccountLost } from '../database/was-account-lost.sql.ts';
import type { Environment } from '../domain/order.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';
import type { AccountSeal, AccountSecrets } from './account-seal.ts';
import { findLostAccounts } from './lost-account.sql.ts';
import { auditAccount, withoutSecrets } from './wallet-account.ts';
import type { WalletAccount } from './wallet-account.ts';

export interface NewAccount {
  readonly merchantId: PublicId<'mer'>;
  readonly environment: Environment;
  readonly wallet: string;
  readonly openValues: Readonly<Record<string, string>>;
  readonly secrets: AccountSecrets;
  /** The name of the account that gets the money; empty for the operator's. */
  readonly payee: string;
  /** The id of an account that a restore lost. Without one, the account takes the id of a lost account with its payee, if there is one. */
  readonly lostAccountId: PublicId<'wac'> | undefined;
}

/** `not_lost`: no restore has lost an account of that id. `payee`: it had this payee, which the values do not give. */
export type AddRefusal = 'merchant_not_found' | 'too_many' | 'not_lost' | { readonly payee: string };

export interface AddAccountParts {
  readonly seal: AccountSeal;
  readonly newId: NewId;
  readonly now: () => Date;
}

/** The most accounts of a merchant at one wallet in one environment, retired ones included. */
const maxAccounts = 10;

/** Adds the next account of a merchant at a wallet, in place of an earlier next one. */
export async function addAccount(
  em: EntityManager,
  { seal, newId, now }: AddAccountParts,
  { merchantId: merchant, environment, wallet, openValues, secrets, payee, lostAccountId }: NewAccount,
  by: Actor,
): Promise<Result<WalletAccount, AddRefusal>> {
  const merchantId = storedId('mer', merchant);
  // The lock makes the merchant's accounts change one after the other.
  const owner = await em.findOne(MerchantRow, { id: merchantId }, { lockMode: LockMode.PESSIMISTIC_WRITE });
  if (owner === null) return err('merchant_not_found');
  const scope = { merchantId, environment, wallet };
  const lostId = await lostIdOf(em, { ...scope, payee, lostAccountId });
  if (!lostId.ok) return lostId;
  const replaced = await replaceNext(em, scope);
  if (!replaced.ok) return replaced;
  const at = now();
  const id = lostId.value ?? storedId('wac', newId('wac', at));
  const row = em.create(WalletAccountRow, {
    ...scope,
    id,
    state: 'NEXT',
    openValues: { ...openValues },
    endings: Object.fromEntries(Object.entries(secrets).map(([name, text]) => [name, endingOf(text)])),
    ...seal.seal(secrets, { ...scope, id }),
    checkResult: 'WAITING',
    checkDueAt: at,
    createdAt: at,
  });
  // A lost account that was added again and removed left its payee.
  await em.upsert(PayeeAccountRow, { ...scope, walletAccountId: id, payee });
  auditAccount(em, newId, { action: 'add', row, at, by });
  return ok(withoutSecrets(row));
}

/** Makes room for a next account: removes the earlier one, or retires it if payments of the lost time may have used it. */
async function replaceNext(
  em: EntityManager,
  scope: Pick<WalletAccountRow, 'merchantId' | 'environment' | 'wallet'>,
): Promise<Result<null, 'too_many'>> {
  const all = await em.find(WalletAccountRow, scope);
  const replaced = all.find(({ state }) => state === 'NEXT');
  const isUsed = replaced !== undefined && (await wasAccountLost(em, replaced));
  if ((replaced === undefined || isUsed) && all.length >= maxAccounts) return err('too_many');
  if (replaced === undefined) return ok(null);
  if (isUsed) replaced.state = 'RETIRED';
  else em.remove(replaced);
  await em.flush();
  return ok(null);
}

/** The id of the lost account that is added again; undefined for any other account. */
async function lostIdOf(
  em: EntityManager,
  {
    lostAccountId,
    payee,
    ...scope
  }: Pick<NewAccount, 'environment' | 'wallet' | 'payee' | 'lostAccountId'> & {
    readonly merchantId: StoredId<'mer'>;
  },
): Promise<Result<StoredId<'wac'> | undefined, 'not_lost' | { readonly payee: string }>> {
  const lost = await findLostAccounts(em, scope);
  if (lostAccountId === undefined) return ok(lost.find((each) => each.payee === payee)?.id);
  const asked = lost.find(({ id }) => id === storedId('wac', lostAccountId));
  if (asked === undefined) return err('not_lost');
  return asked.payee === null || asked.payee === payee ? ok(asked.id) : err({ payee: asked.payee });
}

/** Short secrets show nothing, because four characters would be too large a part of them. */
const shortestShown = 12;

/** The last four characters of a secret. In PEM text those before the closing line. */
function endingOf(secret: string): string {
  const text = secret.replace(/-----[^-]*-----/g, '').trim();
  return text.length < shortestShown ? '' : text.slice(-4);
}
