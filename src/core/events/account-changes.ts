import { isPublicId, publicId, storedId } from '../../contract/public-id.ts';
import type { StoredId } from '../../contract/public-id.ts';
import type { EventMessage } from '../../platform/nats/publish-stored.ts';
import type { StoredMessage } from '../../platform/nats/stored-events.ts';
import type { Environment } from '../domain/order.ts';
import { parseJson } from '../../platform/parse-json.ts';

/*
 * The broker's stream also tells which accounts merchants use. So a gateway that was restored from an older backup knows the accounts
 * that it lost. A message has no credentials. Its subject belongs to no environment, its body is empty, and it has no header of an event,
 * so that readers of events skip it.
 */

/** From a time on, new payments of a merchant at a wallet use another account. */
export interface AccountChange {
  readonly merchantId: StoredId<'mer'>;
  readonly environment: Environment;
  readonly wallet: string;
  /** Null for the operator's account. */
  readonly walletAccountId: StoredId<'wac'> | null;
  /** The account that gets the money, empty for the operator's; null when it is not known. */
  readonly payee: string | null;
  readonly changedAt: Date;
}

const header = 'Gatehouse-Account-Change';

/** `id` is unique, so that the broker drops a repeat. */
export function accountChangeMessage(
  { merchantId, environment, wallet, walletAccountId, payee, changedAt }: AccountChange,
  id: string,
  lineage: string,
): EventMessage {
  const merchant = publicId('mer', merchantId);
  const change = {
    lineage,
    merchant_id: merchant,
    environment,
    wallet,
    wallet_account_id: walletAccountId === null ? null : publicId('wac', walletAccountId),
    payee,
    change_time: changedAt.toISOString(),
  };
  return {
    subject: `orders.accounts.${merchant}.changed`,
    id,
    headers: {
      [header]: Buffer.from(JSON.stringify(change)).toString('base64url'),
    },
    body: new Uint8Array(),
  };
}

/** Undefined for any other message, and for one of another database; 'unreadable' for a form that this version does not know. */
export function accountChangeIn(
  message: Pick<StoredMessage, 'header'>,
  lineage: string,
): AccountChange | 'unreadable' | undefined {
  const text = message.header(header);
  if (text === '') return undefined;
  const change = parseJson(Buffer.from(text, 'base64url').toString());
  if (typeof change !== 'object' || change === null || !('lineage' in change)) return 'unreadable';
  return change.lineage === lineage ? (changeOf(change) ?? 'unreadable') : undefined;
}

function changeOf(change: object): AccountChange | undefined {
  const {
    merchant_id: merchant,
    environment,
    wallet,
    wallet_account_id: account,
    payee,
    change_time: time,
  } = change as Readonly<Record<string, unknown>>;
  const changedAt = new Date(typeof time === 'string' ? time : NaN);
  if (typeof merchant !== 'string' || !isPublicId('mer', merchant)) return undefined;
  if (environment !== 'SANDBOX' && environment !== 'PRODUCTION') return undefined;
  if (typeof wallet !== 'string' || Number.isNaN(changedAt.getTime())) return undefined;
  if (payee !== null && typeof payee !== 'string') return undefined;
  const merchantId = storedId('mer', merchant);
  const values = { merchantId, environment, wallet, payee, changedAt } as const;
  if (account === null) return { ...values, walletAccountId: null };
  if (typeof account !== 'string' || !isPublicId('wac', account)) return undefined;
  return { ...values, walletAccountId: storedId('wac', account) };
}
