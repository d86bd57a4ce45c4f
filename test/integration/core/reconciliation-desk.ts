import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { storedId } from '../../support/ids.ts';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import {
  ReconciliationService,
  StatementEntryStatus,
  StatementEntryType,
} from '../../../src/gen/gatehouse/v1/reconciliation_service_pb.js';
import type {
  LeasedReconciliation,
  StatementEntrySchema,
} from '../../../src/gen/gatehouse/v1/reconciliation_service_pb.js';
import { shared } from '../../support/shared-stack.ts';
import type { Stack } from '../../support/stack.ts';
import { connectToDatabase } from '../../support/database-connections.ts';
import { openPaymentDesk, outcomes } from './payment-desk.ts';
import type { Outcome } from './payment-desk.ts';

export type Entry = Omit<MessageInitShape<typeof StatementEntrySchema>, 'position' | '$typeName'>;

export const walletA = { wallet: 'walleta', environment: Environment.SANDBOX } as const;

/** A completed payment on a statement. A test names the values that matter to it. */
export const paymentEntry = (own: Entry): Entry => ({
  type: StatementEntryType.PAYMENT,
  status: StatementEntryStatus.COMPLETED,
  amount: '100.5',
  currency: 'ETB',
  ...own,
});

/** The answer of a wallet that took money. */
export const { completed } = outcomes;

export const at = (time: string) => timestampFromDate(new Date(time));

/** A core of its own, and the part of the wallet and of the process that reads its statements. */
async function openReconciliationDesk(stack: Stack) {
  const database = await connectToDatabase(stack.databaseUrl);
  const payments = await openPaymentDesk(stack);
  const operator = stack.client(ReconciliationService, 'operator');
  const wallets = stack.client(ReconciliationService, 'wallets');
  let count = 0;

  /** Core may schedule the last days when it has started. No test asks it for that, so these runs are left aside. */
  const lease = async (): Promise<LeasedReconciliation | undefined> => {
    const { leased } = await wallets.leaseReconciliation({ ...walletA, lease: { seconds: 60n } });
    return leased?.reconciliation?.scheduled === true ? lease() : leased;
  };

  /** The name of a leased reconciliation, for calls about it. */
  const keyOf = (leased: LeasedReconciliation | undefined) => ({
    reconciliationId: leased?.reconciliation?.reconciliationId ?? '',
    leaseId: leased?.leaseId ?? '',
  });

  /** The same as `reconcile`, with a statement that the wallet writes when it is read, from this time on. */
  const reconcileWith = async (date: string, statement: (from: Date) => readonly Entry[]) => {
    await operator.startReconciliation({ ...walletA, date });
    const leased = await lease();
    const key = keyOf(leased);
    const from = leased?.fromTime;
    if (from === undefined) throw new Error('no reconciliation is due');
    const placed = statement(timestampDate(from)).map((entry, position) => ({ ...entry, position }));
    await wallets.recordStatementPage({ ...key, entries: placed });
    const completed = await wallets.completeReconciliation(key);
    const { differences } = await operator.listDifferences(key);
    if (completed.reconciliation === undefined) throw new Error('core answered without it');
    return { reconciliation: completed.reconciliation, differences };
  };

  return {
    ...{ operator, wallets, database, payments, lease, keyOf },
    reader: stack.client(ReconciliationService, 'reader'),
    /** A direct payment that the wallet has answered with this. */
    async payment(merchantId: string, outcome: Outcome, amount = '100.50') {
      const orderNumber = `R-${++count}`;
      const payment = await payments.startDirect({ merchantId, orderNumber, amount });
      const { strayPaymentId } = await payments.settle(payment, outcome);
      return { ...payment, orderNumber, strayPaymentId };
    },
    /** Moves a merchant's payments to another day, as if they had happened then at noon. */
    async moveTo(merchantId: string, date: string) {
      const values = [`${date}T12:00:00Z`, storedId('mer', merchantId)];
      for (const table of ['payment_attempts', 'stray_payments', 'refunds'])
        await database.query(
          `update core.${table} set created_at = $1, updated_at = $1 where merchant_id = $2`,
          values,
        );
    },
    /** Ends every payment and reconciliation so far, so that they cannot affect a test. */
    async clear() {
      const tables = ['reconciliation_differences', 'statement_entries', 'reconciliations', 'stray_payments'];
      for (const table of [...tables, 'wallet_receipts', 'refunds'])
        await database.query(`delete from core.${table}`);
      await database.query(`update core.payment_attempts
        set updated_at = '2020-01-01', provider_transaction_id = null, due_at = null`);
    },
    /** Starts a reconciliation of wallet A's sandbox, reads these entries in one page, and returns the result. */
    reconcile: (date: string, entries: readonly Entry[]) => reconcileWith(date, () => entries),
    reconcileWith,
    close: () => Promise.all([database.end(), payments.close()]),
  };
}

export type ReconciliationDesk = Awaited<ReturnType<typeof openReconciliationDesk>>;

/** The desk of all tests of a file. */
export const sharedReconciliationDesk = (stack: Stack): ReconciliationDesk =>
  shared(() => openReconciliationDesk(stack));
