import { createHash } from 'node:crypto';
import { clone, fromBinary, toBinary } from '@bufbuild/protobuf';
import type { DescMessage, MessageShape } from '@bufbuild/protobuf';
import type { Pool } from 'pg';
import { rpcError } from '../../../contract/error-reason.ts';
import { overloaded } from '../../../platform/batcher.ts';
import type { CallerSignal } from '../../../platform/batcher.ts';
import { inTransaction } from '../../../platform/database/in-transaction.ts';
import type { FairCalls } from '../../../platform/fair-calls.ts';
import { executeOn, lockKey, readKey, writeKey } from './keyed-answers.sql.ts';
import type { Execute, KeyName } from './keyed-answers.sql.ts';

export { executeIn, executeOn } from './keyed-answers.sql.ts';

/** Stores the answer of a call in the transaction of its effect. */
export interface KeyedCall<Result> {
  /**
   * Before the effect: waits for other calls with the key. @throws to roll the transaction back when one of them has stored
   * its answer. The throwing call then gets this answer, or IDEMPOTENCY_KEY_REUSED.
   */
  readonly claim: (execute: Execute) => Promise<void>;
  /** After the effect: stores the answer for this result. */
  readonly store: (execute: Execute, result: Result) => Promise<void>;
}

/** A keyed call whose result is known before its transaction. */
export interface KeyedCommit {
  readonly claim: (execute: Execute) => Promise<void>;
  readonly store: (execute: Execute) => Promise<void>;
}

export const commitOf = <Result>(
  keyed: KeyedCall<Result> | undefined,
  result: Result,
): KeyedCommit | undefined =>
  keyed === undefined ? undefined : { claim: keyed.claim, store: (execute) => keyed.store(execute, result) };

export interface KeyedRequest<Response extends DescMessage, Result> {
  readonly name: KeyName;
  /** The digest of the request's values. */
  readonly fingerprint: Buffer;
  readonly response: Response;
  /** The response for a result. It must contain no secret, because it is stored as it is. */
  readonly responseOf: (result: Result) => MessageShape<Response>;
  /** Aborts when the caller disconnects. The call is then dropped, if it has not begun. */
  readonly signal: CallerSignal;
  /** Runs within the share of the merchant and environment, so it must not wait for this share again. */
  readonly run: (keyed: KeyedCall<Result>) => Promise<Result>;
}

/**
 * Answers requests with an idempotency key: the first one is executed, and the same request gets the same answer for 24 hours.
 * Only answers are stored. After an error, the request is executed again. Concurrent requests with one key wait for each
 * other. Those in the same process hold no database connection while they wait. Each request has a transaction of its own, so a
 * merchant's requests share the connections fairly with those of others. Errors in addition to those of `run`: IDEMPOTENCY_KEY_REUSED when the
 * key was used with other values; OVERLOADED when too many requests of the merchant or of the key wait; CALL_CANCELLED.
 */
export type AnswerOnce = <Response extends DescMessage, Result>(
  request: KeyedRequest<Response, Result>,
) => Promise<MessageShape<Response>>;

/** Ends a transaction whose call was answered before. Thrown and caught only within a keyed call. */
class AnsweredBefore extends Error {
  override readonly name = 'AnsweredBefore';
  readonly answer: Buffer;

  constructor(answer: Buffer) {
    super('the call was answered before');
    this.answer = answer;
  }
}

/** More requests than a client sends at once because it got no answer. */
const maxInTurn = 20;

export interface AnswerOnceParts {
  readonly pool: Pool;
  /** Limits the calls of a merchant and environment that each hold a connection. */
  readonly fairly: FairCalls;
}

export function createAnswerOnce({ pool, fairly }: AnswerOnceParts): AnswerOnce {
  const turns = new Map<string, { last: Promise<unknown>; count: number }>();

  const inTurn = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const turn = turns.get(name) ?? { last: Promise.resolve(), count: 0 };
    if (turn.count >= maxInTurn) throw overloaded();
    turns.set(name, turn);
    turn.count += 1;
    const done = turn.last.then(work, work);
    turn.last = done;
    try {
      return await done;
    } finally {
      turn.count -= 1;
      if (turn.count === 0) turns.delete(name);
    }
  };

  return async ({ name, fingerprint, response, responseOf, signal, run }) => {
    const ownName = Object.values(name).join(' ');
    const inShare = <T>(work: () => Promise<T>): Promise<T> =>
      fairly({ owner: `${name.environment} ${name.merchantId}` }, signal, work);
    const readMessage = (answer: Buffer) => fromBinary(response, answer);
    /** The answer of an earlier call. */
    const findAnswer = async (execute: Execute): Promise<Buffer | undefined> => {
      const found = await readKey(execute, name);
      if (found !== undefined && !found.fingerprint.equals(fingerprint)) throw reused();
      return found?.answer;
    };
    const answer = async () => {
      const earlier = await findAnswer(executeOn(pool));
      if (earlier !== undefined) return readMessage(earlier);
      let stored: Buffer | undefined;
      const keyed: KeyedCall<Parameters<typeof responseOf>[0]> = {
        async claim(inside) {
          await lockKey(inside, name);
          const found = await findAnswer(inside);
          if (found !== undefined) throw new AnsweredBefore(found);
        },
        async store(inside, result) {
          stored = Buffer.from(toBinary(response, responseOf(result)));
          await writeKey(inside, name, { fingerprint, answer: stored });
        },
      };
      try {
        const result = await run(keyed);
        // A repeat without an effect has no transaction of its own.
        if (stored === undefined)
          await inTransaction(pool, [], async (client) => {
            await keyed.claim(executeOn(client));
            await keyed.store(executeOn(client), result);
          });
        return responseOf(result);
      } catch (error) {
        if (error instanceof AnsweredBefore) return readMessage(error.answer);
        throw error;
      }
    };
    // A key that a merchant uses all the time has a stored answer, which needs no turn.
    const known = turns.has(ownName) ? await inShare(() => findAnswer(executeOn(pool))) : undefined;
    return known === undefined ? inTurn(ownName, () => inShare(answer)) : readMessage(known);
  };
}

const reused = (): Error => {
  const issue = 'was used with another request in the last 24 hours; use a new key for a new request';
  return rpcError('IDEMPOTENCY_KEY_REUSED', `the idempotency key ${issue}`, {
    issues: [{ field: 'idempotency_key', issue }],
  });
};

type KeyedMessage = MessageShape<DescMessage> & {
  idempotencyKey: string;
  validateOnly: boolean;
  requestId?: string;
  apiKeyId?: string;
};

/** The digest of a request's values, without those that may differ between repeats. */
export function fingerprintOf<Request extends DescMessage>(
  schema: Request,
  request: MessageShape<Request> & KeyedMessage,
): Buffer {
  const values = clone(schema, request) as MessageShape<Request> & KeyedMessage;
  values.idempotencyKey = '';
  values.validateOnly = false;
  if (values.requestId !== undefined) values.requestId = '';
  if (values.apiKeyId !== undefined) values.apiKeyId = '';
  return createHash('sha256').update(toBinary(schema, values)).digest();
}
