import pg from 'pg';
import type { QueryResultRow } from 'pg';
import type { Environment } from '../domain/order.ts';

/** A phone in E.164 form, and for whom it would be asked; a stored id. */
export interface ClaimedPhone {
  readonly phone: string;
  readonly environment: Environment;
  readonly merchantId: string;
  /** The number of its advisory lock. */
  readonly lock: bigint;
}

/** What the database says of a phone. */
export interface PhoneState {
  /** False when another transaction has its lock, or it was named before in the same claim. */
  readonly isLocked: boolean;
  /** How long its open prompt still lasts; 0 without one. */
  readonly busyMs: number;
  /** How many prompts it has had in the window, as far as the limit, and how long ago the first of these was. */
  readonly recent: number;
  readonly firstAgoMs: number;
}

/**
 * Two statements with their values in them, to go on one trip together with the transaction's beginning. Two, because
 * only a statement that begins under the locks sees what their last owners committed. Times are the database's.
 */
export function claimStatements(
  phones: readonly ClaimedPhone[],
  { limit, windowMs }: { readonly limit: number; readonly windowMs: number },
): readonly [locks: string, states: string] {
  const list = (values: readonly unknown[]): string => pg.escapeLiteral(`{${values.join(',')}}`);
  const locks = new Set(phones.map(({ lock }) => lock));
  return [
    `select key::text as key, pg_try_advisory_xact_lock(key) as locked from unnest(${list([...locks])}::bigint[]) as t (key)`,
    `
select busy_ms::text, first_ago_ms::text, count::text from core.phone_states(
  ${list(phones.map(({ phone }) => phone))}::text[],
  ${list(phones.map(({ environment }) => environment))}::core.environment[],
  ${list(phones.map(({ merchantId }) => merchantId))}::uuid[],
  ${limit}, interval '${windowMs} milliseconds'
)`,
  ];
}

/** Reads the rows of both statements. */
export function readPhoneStates(
  phones: readonly ClaimedPhone[],
  [locks = [], states = []]: readonly QueryResultRow[][],
): PhoneState[] {
  const free = new Set(locks.flatMap(({ key, locked }) => (locked === true ? [String(key)] : [])));
  return phones.map(({ lock }, index) => ({
    isLocked: free.delete(lock.toString()),
    busyMs: Math.max(0, Number(states[index]?.['busy_ms'] ?? 0)),
    recent: Number(states[index]?.['count'] ?? 0),
    firstAgoMs: Number(states[index]?.['first_ago_ms'] ?? 0),
  }));
}
