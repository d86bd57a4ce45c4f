import pg from 'pg';
import type { QueryResultRow } from 'pg';
import { storedId } from '../../../contract/public-id.ts';
import type { PublicId } from '../../../contract/public-id.ts';
import type { Environment } from '../../domain/order.ts';
import { promptWindowMs } from '../../domain/prompt-allowance.ts';
import type { PastPrompt, PromptKind } from '../../domain/prompt-allowance.ts';

/** A phone in E.164 form, and its payment's merchant and environment, with public ids. */
export interface ReservedPhone {
  readonly phone: string;
  readonly environment: Environment;
  readonly merchantId: PublicId<'mer'>;
  /** The key of its advisory lock. */
  readonly lock: bigint;
}

/** The stored state of a phone, for the requesting merchant. */
export interface PhoneState {
  /** Whether this reservation has its lock: not when another transaction holds it, or when the reservation names the phone a second time. */
  readonly isLocked: boolean;
  /** Whether the phone has confirmed a payment to the merchant in the last 180 days. */
  readonly hasPaid: boolean;
  /** The phone's prompts in the window, with stored ids. */
  readonly past: readonly PastPrompt[];
}

/**
 * Two statements with inlined values, for one round trip with the start of the transaction. The second statement begins
 * under the locks, so it sees the commits of the previous holders. Times are the database's.
 */
export function reservationStatements(
  phones: readonly ReservedPhone[],
  maxPrompts: number,
): readonly [locks: string, states: string] {
  const list = (values: readonly unknown[]): string => pg.escapeLiteral(`{${values.join(',')}}`);
  const locks = new Set(phones.map(({ lock }) => lock));
  return [
    `select key::text as key, pg_try_advisory_xact_lock(key) as locked from unnest(${list([...locks])}::bigint[]) as t (key)`,
    `
select has_paid, prompts from core.phone_prompts(
  ${list(phones.map(({ phone }) => phone))}::text[],
  ${list(phones.map(({ environment }) => environment))}::core.environment[],
  ${list(phones.map(({ merchantId }) => storedId('mer', merchantId)))}::uuid[],
  ${maxPrompts}, interval '${promptWindowMs} milliseconds'
)`,
  ];
}

/** A prompt as core.phone_prompts returns it. A released migration names its kind `place`. */
interface StoredPrompt extends Omit<PastPrompt, 'kind'> {
  readonly place: PromptKind;
}

/** Parses the rows of both statements. */
export function readPhoneStates(
  phones: readonly ReservedPhone[],
  [locks = [], states = []]: readonly QueryResultRow[][],
): PhoneState[] {
  const acquired = new Set(locks.flatMap(({ key, locked }) => (locked === true ? [String(key)] : [])));
  return phones.map(({ lock }, index) => ({
    isLocked: acquired.delete(lock.toString()),
    hasPaid: states[index]?.['has_paid'] === true,
    past: ((states[index]?.['prompts'] ?? []) as readonly StoredPrompt[]).map(
      ({ place: kind, ...prompt }) => ({
        ...prompt,
        kind,
      }),
    ),
  }));
}
