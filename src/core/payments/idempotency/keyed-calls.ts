import { createHash } from 'node:crypto';
import { ConnectError } from '@connectrpc/connect';
import { clone, fromBinary, toBinary } from '@bufbuild/protobuf';
import type { DescMessage, MessageShape } from '@bufbuild/protobuf';
import type { Pool } from 'pg';
import { rpcError } from '../../../contract/error-reason.ts';
import { overloaded } from '../../../platform/batcher.ts';
import type { CallerSignal } from '../../../platform/batcher.ts';
import { inTransaction } from '../../../platform/database/in-transaction.ts';
import type { FairCalls } from '../../../platform/fair-calls.ts';
import { reasonOf } from '../../../platform/rpc/rpc-error.ts';
import { executeOn, lockKey, readKey, writeKey } from './keyed-answers.sql.ts';
import type { Execute, KeyedAnswer, KeyName, StoredKey } from './keyed-answers.sql.ts';

export { executeIn, executeOn } from './keyed-answers.sql.ts';

/** Stores the answer of a call with its effect: in a transaction of its own by `lock` and `store`, or in a shared statement. */
export interface KeyedCall<Result> {
  /**
   * Before the effect: waits for other calls with the key, and locks it. @throws when another call has stored its answer, so that the
   * transaction is rolled back. This call then gets that answer, or IDEMPOTENCY_KEY_REUSED.
   */
  readonly lock: (execute: Execute) => Promise<void>;
  /** After the effect: stores the answer for this result. @throws as `lock` does. */
  readonly store: (execute: Execute, result: Result) => Promise<void>;
  /** For a statement that stores the answer for this result with the effect. */
  readonly inStatement: (result: Result) => KeyedInsert;
}

/** An answer that is stored by the statement of its effect, which other calls share. */
export interface KeyedInsert {
  readonly answer: KeyedAnswer;
  /** The statement had the effect, and stored the answer. */
  readonly stored: () => void;
  /** The error to throw when the statement had no effect, because the key has this answer. */
  readonly answered: (earlier: StoredKey) => Error;
}

export interface KeyedRequest<Response extends DescMessage, Result> {
  readonly name: KeyName;
  /** The digest of the request's values. */
  readonly fingerprint: Buffer;
  readonly response: Response;
  /** The response for a result. It must contain no secret, because it is stored as it is. */
  readonly responseOf: (result: Result) => MessageShape<Response>;
  /** Aborts when the caller disconnects. The call is then dropped, if it has not begun. */
  readonly signal: CallerSignal;
  /** How long the call may wait for each of its turns, in milliseconds. No limit by default. */
  readonly maxWaitMs?: number | undefined;
  readonly run: (keyed: KeyedCall<Result>) => Promise<Result>;
}

/**
 * Answers requests with an idempotency key: the first one is executed, and the same request gets the same answer for 24 hours.
 * Only answers are stored. After an error, the request is executed again. Concurrent requests with one key wait for each
 * other. Waiting requests of the same process hold no database connection. Errors in addition to those of `run`:
 * IDEMPOTENCY_KEY_REUSED when the key was used with other values; OVERLOADED when too many requests of the merchant or of the key wait, or this one waits too long;
 * CALL_CANCELLED.
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

/** The limit of calls in turn. A client that got no answer repeats its request less often before the first call ends. */
const maxInTurn = 20;

export interface AnswerOnceParts {
  readonly pool: Pool;
  /** Limits the reads and transactions of a merchant and environment that each hold a connection. */
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

  return async ({ name, fingerprint, response, responseOf, signal, maxWaitMs, run }) => {
    const ownName = Object.values(name).join(' ');
    const inShare = <T>(work: () => Promise<T>): Promise<T> =>
      fairly({ owner: `${name.environment} ${name.merchantId}`, maxWaitMs }, signal, work);
    const readMessage = (answer: Buffer) => fromBinary(response, answer);
    const answerOf = (earlier: StoredKey): Buffer => {
      if (!earlier.fingerprint.equals(fingerprint)) throw keyReused();
      return earlier.answer;
    };
    /** The answer of an earlier call. */
    const findAnswer = async (execute: Execute): Promise<Buffer | undefined> => {
      const found = await readKey(execute, name);
      return found && answerOf(found);
    };
    const throwAnswer = async (execute: Execute): Promise<void> => {
      const found = await findAnswer(execute);
      if (found !== undefined) throw new AnsweredBefore(found);
    };
    const answer = async () => {
      const effect = { isStored: false };
      const rowOf = (result: Parameters<typeof responseOf>[0]): KeyedAnswer => ({
        name,
        fingerprint,
        answer: Buffer.from(toBinary(response, responseOf(result))),
      });
      const keyed: KeyedCall<Parameters<typeof responseOf>[0]> = {
        async lock(inside) {
          await lockKey(inside, name);
          await throwAnswer(inside);
        },
        async store(inside, result) {
          if (!(await writeKey(inside, rowOf(result)))) await throwAnswer(inside);
          effect.isStored = true;
        },
        inStatement: (result) => ({
          answer: rowOf(result),
          stored() {
            effect.isStored = true;
          },
          answered(earlier) {
            return new AnsweredBefore(answerOf(earlier));
          },
        }),
      };
      try {
        const result = await run(keyed);
        // A repeat without an effect has run no statement that stores its answer.
        if (!effect.isStored)
          await inShare(() =>
            inTransaction(pool, [], async (client) => {
              await keyed.lock(executeOn(client));
              await keyed.store(executeOn(client), result);
            }),
          );
        return responseOf(result);
      } catch (error) {
        if (error instanceof AnsweredBefore) return readMessage(error.answer);
        // The request may be refused now, although the first request got another answer.
        const earlier = isRefusal(error) ? await inShare(() => findAnswer(executeOn(pool))) : undefined;
        if (earlier === undefined) throw error;
        return readMessage(earlier);
      }
    };
    // A key that a merchant uses all the time has a stored answer, which needs no turn.
    const known = turns.has(ownName) ? await inShare(() => findAnswer(executeOn(pool))) : undefined;
    return known === undefined ? inTurn(ownName, answer) : readMessage(known);
  };
}

/** Errors after which no earlier answer is looked for: nothing was decided about the request, or its key was read already. */
const undecided: readonly unknown[] = ['OVERLOADED', 'CALL_CANCELLED', 'IDEMPOTENCY_KEY_REUSED', undefined];
const isRefusal = (error: unknown): boolean =>
  error instanceof ConnectError && !undecided.includes(reasonOf(error));

const keyReused = (): Error => {
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
