import type { EntityManager } from '@mikro-orm/postgresql';
import { RecoveryWalletRow, UnclaimedPaymentRow } from '../database/recovery-entities.ts';
import type { RecoveryRow } from '../database/recovery-entities.ts';
import type { Environment } from '../domain/order.ts';
import { datesOf } from '../domain/recovery.ts';

/** Starts the comparison of a wallet's day with the records, unless one is in progress. */
export type StartReconciliation = (
  key: { readonly wallet: string; readonly environment: Environment; readonly payee: '' },
  date: string,
  startedBy: string,
) => Promise<unknown>;

/** The most days of statements that are read. A longer lost time needs an operator. */
const maxDays = 31;
/** The tolerated difference between a wallet's clock and ours. */
const clockToleranceMs = 15 * 60_000;

/** The days whose statements contain the lost time. */
const datesIn = ({ lostFrom, lostUntil }: RecoveryRow): readonly string[] | undefined =>
  datesOf(new Date(lostFrom.getTime() - clockToleranceMs), lostUntil, maxDays);

/**
 * Requests the statements of the lost time, wallet by wallet. A statement counts only if it was read to its end after `from`. By
 * then every prompt of the lost time has ended.
 */
export async function checkWallets(
  em: EntityManager,
  recovery: RecoveryRow,
  from: Date,
  start: StartReconciliation,
): Promise<void> {
  const checks = await em.find(RecoveryWalletRow, { recoveryId: recovery.id, state: 'WAITING' });
  const dates = datesIn(recovery);
  for (const check of checks) {
    if (!check.hasStatement) continue;
    if (dates === undefined) {
      Object.assign(check, { hasStatement: false, obstacle: 'too_long' });
      continue;
    }
    const { wallet, environment } = check;
    const days = await em.execute<{ day: string; done: boolean; open: boolean }[]>(
      `
select asked.day::text as day,
  coalesce(bool_or(r.status = 'COMPLETED' and r.period_to >= least(asked.day + interval '1 day', ?::timestamptz)), false) as done,
  coalesce(bool_or(r.status in ('WAITING', 'RUNNING')), false) as open
from unnest(?::date[]) as asked (day)
left join core.reconciliations r
  on r.wallet = ? and r.environment = ?::core.environment and r.day = asked.day and r.created_at >= ?::timestamptz
group by asked.day order by asked.day`,
      [from, `{${dates.join(',')}}`, wallet, environment, recovery.lostUntil],
    );
    if (days.every(({ done }) => done)) {
      check.state = 'READ';
      check.unclaimedPayments = await em.count(UnclaimedPaymentRow, {
        wallet,
        environment,
        foundAt: { $gte: recovery.lostUntil },
      });
      continue;
    }
    for (const { day, done, open } of days)
      if (!done && !open) await start({ wallet, environment, payee: '' }, day, 'recovery');
  }
  await em.flush();
}
