import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { QueryResultRow } from 'pg';
import { rpcError } from '../../runtime/rpc/rpc-error.ts';
import { storedId } from '../../runtime/public-id.ts';
import type { Environment } from '../domain/order.ts';
import { claimStatements, readPhoneStates } from './claim-phones.sql.ts';
import type { PhoneState } from './claim-phones.sql.ts';

export interface PhoneLimitSettings {
  /** Payments that one phone may be asked to confirm in ten minutes; 0 sets no limit of any kind. */
  readonly promptsPerTenMinutes: number;
}

/** The phone that a payment would ask, in E.164 form, and for whom. */
export interface AskedPhone {
  readonly phone: string;
  readonly environment: Environment;
  readonly merchantId: string;
}

/** Why a phone is not to be asked yet, and for how many milliseconds: it has a prompt open, or has had its share. */
export interface PhoneHold {
  readonly reason: 'PHONE_BUSY' | 'PHONE_LIMIT';
  readonly waitMs: number;
}

/** Free means: free until the transaction ends. Elsewhere: another transaction is about to have the phone asked. */
export type PhoneAnswer = 'free' | 'elsewhere' | PhoneHold;

/** To be run in the transaction that commits the attempts, before it does. */
export interface PhoneClaim {
  readonly statements: readonly string[];
  /** What each phone's answer is, by the rows of each statement. */
  readonly answers: (rows: readonly QueryResultRow[][]) => readonly PhoneAnswer[];
}

/**
 * A phone is asked by one prompt at a time and a few times in ten minutes: nobody is to be worn down by prompts. In
 * production all merchants count together. In the sandbox each counts for itself, since all use the same test numbers.
 */
export interface PhoneLimit {
  readonly isSet: boolean;
  /**
   * Says of each phone whether this transaction may have it asked; whoever commits an attempt claims its phone before.
   * Holds across all cores, by a lock for each phone that ends with the transaction. Nobody ever waits for one.
   */
  readonly claim: (asked: readonly AskedPhone[]) => PhoneClaim;
  /** Claims one phone in a transaction of the ORM. @throws what `phoneRefusal` makes of any answer but 'free'. */
  readonly demand: (em: EntityManager, asked: AskedPhone) => Promise<void>;
  /**
   * Starts a payment when those before it for the same phone have ended in this process, and again a moment later when
   * it found the phone with another core. @throws RESOURCE_EXHAUSTED PHONE_BUSY when it was so for too long.
   */
  readonly inTurn: <T>(asked: AskedPhone, start: () => Promise<T>) => Promise<T>;
}

const windowMs = 10 * 60_000;
const busyRetryMs = 2_000;
/** Another core is done with a phone in a few milliseconds, unless it hangs. */
const waitsForOtherCoreMs = [5, 10, 20, 40, 80, 160, 320];
/** Payments for one phone that wait for each other; more than this many are nobody's honest customer. */
const maxQueued = 100;

export function createPhoneLimit({ promptsPerTenMinutes: limit }: PhoneLimitSettings): PhoneLimit {
  const claim: PhoneLimit['claim'] = (asked) => {
    if (limit === 0) return { statements: [], answers: () => asked.map(() => 'free') };
    const phones = asked.map((one) => ({
      ...one,
      merchantId: storedId('mer', one.merchantId),
      lock: phoneLockOf(one),
    }));
    return {
      statements: claimStatements(phones, { limit, windowMs }),
      answers: (rows) => readPhoneStates(phones, rows).map((state) => answerFor(state, limit)),
    };
  };
  const startWhenHere = async <T>(start: () => Promise<T>): Promise<T> => {
    for (const waitMs of waitsForOtherCoreMs) {
      try {
        return await start();
      } catch (error) {
        if (!(error instanceof PhoneElsewhere)) throw error;
        await delay(waitMs);
      }
    }
    throw phoneRefusal({ reason: 'PHONE_BUSY', waitMs: busyRetryMs });
  };
  const queues = new Map<string, { readonly last: Promise<unknown>; readonly length: number }>();
  return {
    isSet: limit > 0,
    claim,
    async demand(em, asked) {
      const { statements, answers } = claim([asked]);
      const rows: QueryResultRow[][] = [];
      for (const statement of statements) rows.push(await em.execute(statement));
      const [answer = 'free'] = answers(rows);
      if (answer !== 'free') throw phoneRefusal(answer);
    },
    async inTurn(asked, start) {
      if (limit === 0) return start();
      const key = counterOf(asked);
      const { last, length } = queues.get(key) ?? { last: Promise.resolve(), length: 0 };
      if (length >= maxQueued) throw phoneRefusal({ reason: 'PHONE_BUSY', waitMs: busyRetryMs });
      const run = () => startWhenHere(start);
      const started = last.then(run, run);
      queues.set(key, { last: started, length: length + 1 });
      try {
        return await started;
      } finally {
        const queue = queues.get(key);
        if (queue?.last === started) queues.delete(key);
        else if (queue !== undefined) queues.set(key, { ...queue, length: queue.length - 1 });
      }
    },
  };
}

/** Never leaves `inTurn`. */
class PhoneElsewhere extends Error {
  override readonly name = 'PhoneElsewhere';
}

/** What is thrown for a phone that may not be asked now: RESOURCE_EXHAUSTED, PHONE_BUSY or PHONE_LIMIT. */
export function phoneRefusal(answer: Exclude<PhoneAnswer, 'free'>): Error {
  if (answer === 'elsewhere') return new PhoneElsewhere('another core is about to have this phone asked');
  const { reason, waitMs } = answer;
  const message =
    reason === 'PHONE_BUSY'
      ? 'this phone has a payment to confirm; wait until it has ended'
      : 'this phone has been asked to confirm too many payments; try again later';
  return rpcError(reason, message, { retryAfterMs: waitMs });
}

/** Who counts together waits together, and nobody else: a sandbox never holds up real payments. */
const counterOf = ({ phone, environment, merchantId }: AskedPhone): string =>
  environment === 'PRODUCTION' ? phone : `${merchantId} ${phone}`;

/** The advisory lock of a phone. 64 bits: no phone meets another one's lock, or another use of such locks, by chance. */
export const phoneLockOf = (asked: AskedPhone): bigint =>
  createHash('sha256')
    .update(`phone ${counterOf(asked)}`)
    .digest()
    .readBigInt64BE();

function answerFor({ isLocked, busyMs, recent, firstAgoMs }: PhoneState, limit: number): PhoneAnswer {
  if (!isLocked) return 'elsewhere';
  const fullMs = recent >= limit ? windowMs - firstAgoMs : 0;
  if (busyMs <= 0 && fullMs <= 0) return 'free';
  return fullMs > busyMs
    ? { reason: 'PHONE_LIMIT', waitMs: fullMs }
    : { reason: 'PHONE_BUSY', waitMs: busyMs };
}
