import { ConnectError } from '@connectrpc/connect';
import type { EntityManager } from '@mikro-orm/postgresql';
import ipaddr from 'ipaddr.js';
import type { Actor } from '../../platform/rpc/actor.ts';
import { reasonOf } from '../../platform/rpc/rpc-error.ts';
import type { UserRow } from '../database/account-entities.ts';
import type { AccountParts } from './account-parts.ts';
import { recordRefusal } from './record-refusal.sql.ts';
import type { RefusalReason } from './record-refusal.sql.ts';
import { actingWithoutUser, actingAsUser, recordUserAudit } from './record-user-audit.ts';

/** The proof of identity at a sign-in. */
export type SignInProof = 'PASSWORD' | 'ONE_TIME_CODE' | 'RECOVERY_CODE';

/** The details of an entry with the address of the user's browser; none for a text that is no IP address. */
export const originOf = (remoteAddress: string): Readonly<Record<string, string>> =>
  ipaddr.isValid(remoteAddress) ? { remote_address: ipaddr.process(remoteAddress).toString() } : {};

/** Records a sign-in with its origin, in the unit of work that stores its time. */
export async function recordSignIn(
  em: EntityManager,
  { newId }: Pick<AccountParts, 'newId'>,
  at: Date,
  by: Actor,
  user: UserRow,
  { proof, remoteAddress }: { readonly proof: SignInProof; readonly remoteAddress: string },
): Promise<void> {
  await recordUserAudit(em, newId, at, actingAsUser(by, user.id), user, {
    action: 'session.begin',
    details: { proof, ...originOf(remoteAddress) },
  });
}

/** The account that someone tries to use. */
export interface TriedAccount {
  readonly emailKey: string;
  readonly user: UserRow | null;
  readonly remoteAddress: string;
}

const refusals: ReadonlyMap<string | undefined, RefusalReason> = new Map([
  ['WRONG_CREDENTIALS', 'WRONG_PASSWORD'],
  ['WRONG_CODE', 'WRONG_CODE'],
  ['TOO_MANY_TRIES', 'TOO_MANY_TRIES'],
]);

/** Runs an identity check, and records its refusal before it is thrown. */
export async function recordingRefusal<T>(
  { database, now }: Pick<AccountParts, 'database' | 'now'>,
  by: Actor,
  { emailKey, user, remoteAddress }: TriedAccount,
  check: () => Promise<T>,
): Promise<T> {
  try {
    return await check();
  } catch (error) {
    const refusal = error instanceof ConnectError ? refusals.get(reasonOf(error)) : undefined;
    if (refusal !== undefined) {
      const reason = user?.disabledAt == null ? refusal : 'KEPT_OUT';
      await recordRefusal(database.pool, now(), actingWithoutUser(by), {
        reason,
        emailKey,
        user,
        details: originOf(remoteAddress),
      });
    }
    throw error;
  }
}
