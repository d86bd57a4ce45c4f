import { LockMode } from '@mikro-orm/postgresql';
import type { EntityManager } from '@mikro-orm/postgresql';
import { storedId } from '../../../contract/public-id.ts';
import type { StoredId } from '../../../contract/public-id.ts';
import { findAllByKey } from '../../../platform/database/find-by-key.ts';
import type { Database } from '../../database/database.ts';
import { leaseWhenDue } from '../../database/next-due.sql.ts';
import type { LeasedRows, LeaseRequest } from '../../database/next-due.sql.ts';
import { PaymentAttemptRow } from '../../database/order-entities.ts';
import { readClock } from '../../database/read-clock.ts';
import { takesPayments } from '../../database/takes-payments.sql.ts';
import type { Environment } from '../../domain/order.ts';
import type { FailingRows } from './failing-rows.ts';

type Kind = 'rfd' | 'stp';

interface DueRow<K extends Kind> {
  readonly id: StoredId<K>;
  readonly merchantId: StoredId<'mer'>;
  readonly environment: Environment;
  readonly paymentAttemptId?: StoredId<'pat'> | null | undefined;
}

const dueCondition = <K extends Kind>(request: LeaseRequest, at: Date, failing: FailingRows<K>) => ({
  environment: request.environment,
  paymentOption: { $in: [...request.paymentOptions] },
  dueAt: { $lte: at },
  id: { $nin: [...failing.ids()] },
  merchantId: { $nin: request.exceptMerchantIds.map((id) => storedId('mer', id)) },
});

const lockedInTurn = (limit: number) =>
  ({ orderBy: { dueAt: 'asc' }, limit, lockMode: LockMode.PESSIMISTIC_PARTIAL_WRITE }) as const;

/** A table of money that goes back to payers. */
export interface DueTable<K extends Kind, Row> {
  readonly database: Pick<Database, 'pool' | 'fork'>;
  readonly table: 'refunds' | 'stray_payments';
  readonly failing: FailingRows<K>;
  readonly find: (
    em: EntityManager,
    condition: ReturnType<typeof dueCondition<K>>,
    options: ReturnType<typeof lockedInTurn>,
  ) => Promise<Row[]>;
}

/**
 * Leases due rows in one transaction, those that are due longest first. `leaseRow` changes a locked row, and returns the item for
 * the worker, or undefined if the row gets no lease. It gets the attempt that was paid; undefined if the payer started the payment. Nothing is leased while the environment takes no payments.
 */
export function leaseDueRows<K extends Kind, Row extends DueRow<K>, Item extends object>(
  { database, table, failing, find }: DueTable<K, Row>,
  request: LeaseRequest,
  leaseRow: (
    em: EntityManager,
    row: Row,
    attempt: PaymentAttemptRow | undefined,
    at: Date,
  ) => Item | undefined,
): Promise<LeasedRows<Item>> {
  return leaseWhenDue(database.pool, table, request, () =>
    failing.leaveOut((choose) =>
      database.fork().transactional(async (em) => {
        if (!(await takesPayments(em, request.environment))) return [];
        const at = await readClock(em);
        const rows = await find(em, dueCondition(request, at, failing), lockedInTurn(request.limit));
        const attempts = await readAttempts(em, rows);
        const items: Item[] = [];
        for (const row of choose(rows, (each) => each)) {
          const item = leaseRow(em, row, attempts.get(row.paymentAttemptId ?? ''), at);
          if (item !== undefined) items.push(item);
        }
        return items;
      }),
    ),
  );
}

/** The attempts that were paid, by their stored ids. */
async function readAttempts<K extends Kind>(em: EntityManager, rows: readonly DueRow<K>[]) {
  const keys = rows.flatMap(({ merchantId, paymentAttemptId: id }) =>
    id == null ? [] : [{ merchantId, id }],
  );
  const attempts = await findAllByKey(em, PaymentAttemptRow, keys);
  return new Map(attempts.map((attempt): [string, PaymentAttemptRow] => [attempt.id, attempt]));
}
