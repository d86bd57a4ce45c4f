import type { EntityManager } from '@mikro-orm/postgresql';
import { RecoveryRow, RecoveryWalletRow } from '../database/recovery-entities.ts';
import type { RecoveryCause } from '../domain/recovery.ts';
import type { Wallet } from '../domain/wallet.ts';
import { addStatements } from './recovery-statements.sql.ts';

export interface BegunRecovery {
  readonly id: string;
  readonly cause: RecoveryCause;
  readonly lostFrom: Date;
  readonly lostUntil: Date;
}

/**
 * Begins a recovery, in one transaction. It closes both environments. Requests that were open at the time of the backup may have reached their
 * wallets since, so they are marked as perhaps sent. A database may be restored again before its recovery has finished. Then the new
 * recovery replaces the old one, and includes its lost time.
 */
export async function beginRecovery(
  em: EntityManager,
  wallets: readonly Wallet[],
  { id, cause, lostFrom, lostUntil }: BegunRecovery,
): Promise<void> {
  const replaced = await em.findOne(RecoveryRow, { finishedAt: null });
  if (replaced !== null) {
    replaced.finishedAt = lostUntil;
    await em.flush();
  }
  em.create(RecoveryRow, {
    id,
    cause,
    lostFrom: replaced !== null && replaced.lostFrom < lostFrom ? replaced.lostFrom : lostFrom,
    lostUntil,
    stream: 'WAITING',
    conflictingOrders: replaced?.conflictsAcceptedBy === '' ? replaced.conflictingOrders : 0,
    closed: ['SANDBOX', 'PRODUCTION'],
  });
  await em.flush();
  for (const { id: wallet, environments, reconcile } of wallets)
    for (const environment of environments)
      em.create(RecoveryWalletRow, {
        recoveryId: id,
        environment,
        wallet,
        state: 'WAITING',
        hasStatement: reconcile,
        obstacle: reconcile ? '' : 'no_statement',
      });
  await em.flush();
  // Now and not later, because an account that is removed during the recovery may have lost payments.
  await addStatements(em, { id, lostUntil });
  await markRequestsAsSent(em, lostUntil);
  // Facades may remember ended orders that this database does not have, or has as PENDING.
  await em.execute('update core.merchants set ended_orders_version = gen_random_uuid()');
  await em.execute('update core.database_life set home = core.database_home(), seen_at = now()');
}

/** Marks every open request as perhaps sent, with the account that it may have used. */
async function markRequestsAsSent(em: EntityManager, lostUntil: Date): Promise<void> {
  // Every change of an attempt or a refund locks its order first. So under this lock of the tables no other transaction changes one.
  await em.execute('lock table core.orders, core.payment_attempts, core.refunds in share row exclusive mode');
  // A request of the lost time was sent with the account that was current then. An attempt under a lease was sent before, so it keeps its
  // account. Every undecided attempt has a due_at, whose index these statements use, because nobody can write meanwhile.
  await em.execute(`
update core.payment_attempts p set status = 'UNKNOWN', maybe_sent = true,
  wallet_account_id = case when p.leased_until is not null then p.wallet_account_id else (
    select a.id from core.wallet_accounts a
    where a.merchant_id = p.merchant_id and a.environment = p.environment and a.state = 'CURRENT'
      and a.wallet = regexp_replace(p.payment_option, '_[a-z]+$', '')
  ) end
where p.due_at is not null and p.status in ('REQUESTED', 'SENT', 'UNKNOWN') and (p.status = 'REQUESTED' or not p.maybe_sent)`);
  await em.execute(
    "update core.refunds set maybe_sent = true, asked_since = ? where due_at is not null and status = 'REVERSAL_DUE' and not maybe_sent",
    [lostUntil.toISOString()],
  );
  await em.execute(
    "update core.stray_payments set maybe_sent = true, asked_since = ? where due_at is not null and status = 'REVERSAL_DUE' and not maybe_sent",
    [lostUntil.toISOString()],
  );
}
