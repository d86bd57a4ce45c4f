import { runStatement } from '../database/run-statement.ts';
import type { Database } from '../database/database.ts';
import { storedId } from '../database/public-id.ts';
import type { Environment } from '../domain/order.ts';
import { rpcError } from '../../runtime/rpc/rpc-error.ts';

export interface PhoneLimitSettings {
  /** Payments that one phone may be asked to confirm in ten minutes; 0 sets no limit of any kind. */
  readonly promptsPerTenMinutes: number;
}

/** Milliseconds until this phone may be asked again; 0 when it may be now. */
export type PhoneWait = (phone: string, environment: Environment, merchantId: string) => Promise<number>;

const windowMs = 10 * 60_000;

/**
 * A phone is asked by one prompt at a time and a few times in ten minutes: nobody is to be worn down by prompts. In
 * production all merchants count together. In the sandbox each counts for itself, since all use the same test numbers.
 * Two payments that start in the same moment may both pass.
 */
export function createPhoneWait(
  database: Database,
  { promptsPerTenMinutes: limit }: PhoneLimitSettings,
): PhoneWait {
  return async (phone, environment, merchantId) => {
    if (limit === 0) return 0;
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
}

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
