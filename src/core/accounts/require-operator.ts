import type { EntityManager } from '@mikro-orm/postgresql';
import { rpcError } from '../../contract/error-reason.ts';
import { storedId } from '../../contract/public-id.ts';
import type { PublicId } from '../../contract/public-id.ts';
import type { Actor } from '../../platform/rpc/actor.ts';
import { UserRow } from '../database/account-entities.ts';

/** The operator behind a call, with the actor for the audit log. */
export interface ActingOperator {
  readonly by: Actor;
  /** The operator's account: "usr_…". Undefined for the holder of an operator service token, which names no person. */
  readonly userId: PublicId<'usr'> | undefined;
}

const hour = 3_600_000;
/**
 * How long both operators of a request must have been operators, since they were last enabled. Otherwise an operator could
 * invite or enable a second account and approve with it at once.
 */
const operatorAgeMs = 24 * hour;

export const notAnOperator = () => rpcError('NOT_AN_OPERATOR', 'only an operator of the gateway may do this');

/**
 * Whether the operator of an earlier step still counts as one of two. The account of a disabled operator may have been in the hands of
 * another person.
 */
export const isStillOperator = ({ isOperator, disabledAt }: UserRow): boolean =>
  isOperator && disabledAt == null;

/** The operator's account; undefined for the holder of an operator service token. @throws NOT_AN_OPERATOR */
export async function requireOperator(
  em: EntityManager,
  { userId }: Pick<ActingOperator, 'userId'>,
): Promise<UserRow | undefined> {
  if (userId === undefined) return undefined;
  const operator = await em.findOne(UserRow, { id: storedId('usr', userId) });
  if (operator === null || !isStillOperator(operator)) throw notAnOperator();
  return operator;
}

/** @throws OPERATOR_TOO_NEW when the account has been an operator's for less than 24 hours. */
export function requireAge({ operatorSince, updatedAt, email }: UserRow, at: Date): void {
  if (at.getTime() - (operatorSince ?? updatedAt).getTime() >= operatorAgeMs) return;
  throw rpcError(
    'OPERATOR_TOO_NEW',
    `${email} has been an operator for less than 24 hours, and cannot request or approve this yet`,
  );
}
