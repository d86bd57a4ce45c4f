import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { QueryResultRow } from 'pg';
import { rpcError } from '../../../contract/error-reason.ts';
import { storedId } from '../../../contract/public-id.ts';
import type { PublicId } from '../../../contract/public-id.ts';
import type { Environment } from '../../domain/order.ts';
import { decidePrompt, maxPrompts, statedWaitMs } from '../../domain/prompt-allowance.ts';
import type { PromptDecision, PromptKind } from '../../domain/prompt-allowance.ts';
import { reservationStatements, readPhoneStates } from './reserve-phones.sql.ts';

export interface PhoneLimitSettings {
  /** The number of prompts of one kind that a phone gets in ten minutes (see `promptLimits`); 0 disables all limits. */
  readonly promptsPerTenMinutes: number;
  /** A random number from 0 to 1. */
  readonly random: () => number;
}

/** The phone that a payment would prompt, in E.164 form, with its merchant and environment. */
export interface AskedPhone {
  readonly phone: string;
  readonly environment: Environment;
  readonly merchantId: PublicId<'mer'>;
  /** The customer's network for a checkout page, '' when unknown; null for a direct payment. */
  readonly network: string | null;
}

/** `allowed` holds until the transaction ends. `elsewhere`: another transaction is about to have the phone prompted. */
export type PhoneAnswer = PromptDecision | { readonly type: 'elsewhere' };
export type PhoneRefusal = Exclude<PhoneAnswer, { readonly type: 'allowed' }>;

/** Statements for the transaction that commits the attempts. They run before the commit. */
export interface PhoneReservation {
  readonly statements: readonly string[];
  /** The answer for each phone, from the rows of each statement. */
  readonly answers: (rows: readonly QueryResultRow[][]) => readonly PhoneAnswer[];
}

/**
 * The limit on prompts of a phone: docs/adr/0018. In production the prompts of all merchants count together. In the
 * sandbox each merchant counts separately, because all use the same test numbers.
 */
export interface PhoneLimit {
  readonly isSet: boolean;
  /**
   * Decides for each phone whether this transaction may prompt it. Each attempt must reserve its phone before the commit.
   * The reservation holds across all cores, by an advisory lock until the transaction ends. It never waits for a lock.
   */
  readonly reserve: (asked: readonly AskedPhone[]) => PhoneReservation;
  /** Reserves phones in an ORM transaction. The answers are in their order. */
  readonly reserveIn: (em: EntityManager, asked: readonly AskedPhone[]) => Promise<readonly PhoneAnswer[]>;
  /** Reserves one phone in an ORM transaction and returns the kind of its prompt. @throws `refusal` of any other answer. */
  readonly demand: (em: EntityManager, asked: AskedPhone) => Promise<PromptKind>;
  /** The error for a phone that may not be prompted now: RESOURCE_EXHAUSTED, PHONE_BUSY or PHONE_LIMIT. */
  readonly refusal: (answer: PhoneRefusal) => Error;
  /**
   * Runs the payments of a phone in this process one after another. Retries shortly after when another core holds the
   * phone. @throws RESOURCE_EXHAUSTED PHONE_BUSY when the phone stays busy for too long.
   */
  readonly inTurn: <T>(asked: AskedPhone, start: () => Promise<T>) => Promise<T>;
}

const busyRetryMs = 2_000;
/** Another core holds a phone for a few milliseconds only, unless it hangs. */
const waitsForOtherCoreMs = [5, 10, 20, 40, 80, 160, 320];
/** The queue limit per phone and origin. An honest customer has one waiting payment, and cannot be blocked by other origins. */
const maxQueued = 20;

export function createPhoneLimit({ promptsPerTenMinutes, random }: PhoneLimitSettings): PhoneLimit {
  const reserve: PhoneLimit['reserve'] = (asked) => {
    if (promptsPerTenMinutes === 0) return { statements: [], answers: () => asked.map(() => unlimited) };
    const phones = asked.map((one) => ({ ...one, lock: phoneLockOf(one) }));
    return {
      statements: reservationStatements(phones, maxPrompts(promptsPerTenMinutes)),
      answers: (rows) =>
        readPhoneStates(phones, rows).map(({ isLocked, hasPaid, past }, index): PhoneAnswer => {
          const prompt = asked[index];
          if (prompt === undefined || !isLocked) return { type: 'elsewhere' };
          return decidePrompt(
            { ...prompt, merchantId: storedId('mer', prompt.merchantId), hasPaid },
            past,
            promptsPerTenMinutes,
          );
        }),
    };
  };
  const refusal: PhoneLimit['refusal'] = (answer) => {
    if (answer.type === 'elsewhere')
      return new PhoneElsewhere('another core is starting a payment of this phone');
    const message =
      answer.reason === 'PHONE_BUSY'
        ? 'this phone already has a payment to confirm; wait until that payment has ended'
        : 'this phone has received too many payment prompts; try again later';
    return rpcError(answer.reason, message, { retryAfterMs: statedWaitMs(answer.waitMs, random()) });
  };
  const tooMany = () => refusal({ type: 'refused', reason: 'PHONE_BUSY', waitMs: busyRetryMs });
  const startWhenHere = async <T>(start: () => Promise<T>): Promise<T> => {
    for (const waitMs of waitsForOtherCoreMs) {
      try {
        return await start();
      } catch (error) {
        if (!(error instanceof PhoneElsewhere)) throw error;
        await delay(waitMs);
      }
    }
    throw tooMany();
  };
  const queues = new Map<string, Promise<unknown>>();
  const waiting = new Map<string, number>();
  const reserveIn: PhoneLimit['reserveIn'] = async (em, asked) => {
    const { statements, answers } = reserve(asked);
    const rows: QueryResultRow[][] = [];
    for (const statement of statements) rows.push(await em.execute(statement));
    return answers(rows);
  };
  return {
    isSet: promptsPerTenMinutes > 0,
    reserve,
    reserveIn,
    refusal,
    async demand(em, asked) {
      const [answer = unlimited] = await reserveIn(em, [asked]);
      if (answer.type !== 'allowed') throw refusal(answer);
      return answer.kind;
    },
    async inTurn(asked, start) {
      if (promptsPerTenMinutes === 0) return start();
      const phone = counterOf(asked);
      const requester = `${phone} ${asked.network ?? asked.merchantId}`;
      const ahead = waiting.get(requester) ?? 0;
      if (ahead >= maxQueued) throw tooMany();
      const run = () => startWhenHere(start);
      const started = (queues.get(phone) ?? Promise.resolve()).then(run, run);
      queues.set(phone, started);
      waiting.set(requester, ahead + 1);
      try {
        return await started;
      } finally {
        if (queues.get(phone) === started) queues.delete(phone);
        const left = (waiting.get(requester) ?? 1) - 1;
        if (left === 0) waiting.delete(requester);
        else waiting.set(requester, left);
      }
    },
  };
}

const unlimited = { type: 'allowed', kind: 'COMMON' } as const;

/** Thrown and caught only within `inTurn`. */
class PhoneElsewhere extends Error {
  override readonly name = 'PhoneElsewhere';
}

/** Payments that share a count share a queue, so a sandbox never delays real payments. */
const counterOf = ({ phone, environment, merchantId }: Omit<AskedPhone, 'network'>): string =>
  environment === 'PRODUCTION' ? phone : `${merchantId} ${phone}`;

/** The advisory lock of a phone. Its 64 bits make a collision with another lock improbable. */
export const phoneLockOf = (asked: Omit<AskedPhone, 'network'>): bigint =>
  createHash('sha256')
    .update(`phone ${counterOf(asked)}`)
    .digest()
    .readBigInt64BE();
