import { LockMode } from '@mikro-orm/postgresql';
import type { EntityManager } from '@mikro-orm/postgresql';
import { rpcError } from '../../contract/error-reason.ts';
import { storedId } from '../../contract/public-id.ts';
import type { PublicId } from '../../contract/public-id.ts';
import { UserRow } from '../database/account-entities.ts';

/** The row of a user. @throws NOT_FOUND USER_NOT_FOUND */
export async function requireUser(em: EntityManager, userId: PublicId<'usr'>): Promise<UserRow> {
  return requireRow(await em.findOne(UserRow, { id: storedId('usr', userId) }), userId);
}

/** As `requireUser`, with the row locked until the transaction ends. */
export async function lockUser(em: EntityManager, userId: PublicId<'usr'>): Promise<UserRow> {
  const where = { id: storedId('usr', userId) };
  return requireRow(await em.findOne(UserRow, where, { lockMode: LockMode.PESSIMISTIC_WRITE }), userId);
}

/** The locked row of the user with this address; undefined when there is none. */
export async function lockUserByEmail(em: EntityManager, emailKey: string): Promise<UserRow | undefined> {
  return (await em.findOne(UserRow, { emailKey }, { lockMode: LockMode.PESSIMISTIC_WRITE })) ?? undefined;
}

function requireRow(row: UserRow | null, name: string): UserRow {
  if (row === null) throw userNotFound(name);
  return row;
}

/** NOT_FOUND USER_NOT_FOUND, for an id or an address. */
export const userNotFound = (name: string) => rpcError('USER_NOT_FOUND', `there is no user ${name}`);
