import { runStatement } from '../../runtime/database/run-statement.ts';
import type { Database } from '../database/database.ts';
import { storedId } from '../../runtime/public-id.ts';
import type { Environment } from '../domain/order.ts';
import { rpcError } from '../../runtime/rpc/rpc-error.ts';

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

/**
 * Starts a payment that asks a phone, and tells it how many milliseconds the phone is not to be asked yet; 0 when it may
 * be now.
 */
export type PhoneGate = <T>(asked: AskedPhone, start: (waitMs: number) => Promise<T>) => Promise<T>;

const windowMs = 10 * 60_000;

/**
 * A phone is asked by one prompt at a time and a few times in ten minutes: nobody is to be worn down by prompts. In
 * production all merchants count together. In the sandbox each counts for itself, since all use the same test numbers.
 * Payments for one phone start one after another here. Two that start in the same moment on two cores may both pass.
 */
export function createPhoneGate(
  database: Database,
  { promptsPerTenMinutes: limit }: PhoneLimitSettings,
): PhoneGate {
  const waitOf = async ({ phone, environment, merchantId }: AskedPhone): Promise<number> => {
    const [row] = await runStatement<{ busy_ms: string | null; window_ms: string | null }>(database.pool, {
      name: 'phone-wait',
      text: `
select
  ceil(extract(epoch from max(prompt_until) filter (where status in ('REQUESTED', 'SENT', 'UNKNOWN')) - now()) * 1000)::text as busy_ms,
  case when count(*) >= $4 then ceil(extract(epoch from min(created_at) - now()) * 1000 + $5)::text end as window_ms
from (
  select status, prompt_until, created_at from core.payment_attempts
  where phone = $1 and environment = $2::core.environment and created_at > now() - $5 * interval '1 millisecond'
    and ($2::core.environment = 'PRODUCTION' or merchant_id = $3)
  order by created_at desc limit $4
) recent`,
      values: [phone, environment, storedId('mer', merchantId), limit, windowMs],
    });
    return Math.max(0, Number(row?.busy_ms ?? 0), Number(row?.window_ms ?? 0));
  };
  const queues = new Map<string, { readonly last: Promise<unknown>; readonly length: number }>();
  return async (asked, start) => {
    if (limit === 0) return start(0);
    const key = queueOf(asked);
    const { last, length } = queues.get(key) ?? { last: Promise.resolve(), length: 0 };
    if (length >= maxQueued) refuseBusyPhone(busyRetryMs);
    const run = async () => start(await waitOf(asked));
    const started = last.then(run, run);
    queues.set(key, { last: started, length: length + 1 });
    try {
      return await started;
    } finally {
      const queue = queues.get(key);
      if (queue?.last === started) queues.delete(key);
      else if (queue !== undefined) queues.set(key, { ...queue, length: queue.length - 1 });
    }
  };
}

/** Payments for one phone that wait for each other; more than this many are nobody's honest customer. */
const maxQueued = 100;
const busyRetryMs = 2_000;

/** Who counts together waits together, and nobody else: a sandbox never holds up real payments. */
const queueOf = ({ phone, environment, merchantId }: AskedPhone): string =>
  environment === 'PRODUCTION' ? phone : `${merchantId} ${phone}`;

/** @throws RESOURCE_EXHAUSTED PHONE_LIMIT when the phone may not be asked now. */
export function refuseBusyPhone(waitMs: number): void {
  if (waitMs > 0) {
    throw rpcError(
      'PHONE_LIMIT',
      'this phone has a payment to confirm, or has had too many; try again later',
      { retryAfterMs: waitMs },
    );
  }
}
