import type { EntityManager } from '@mikro-orm/postgresql';
import {
  arrayLiteral,
  bulkStatement,
  column,
  plainColumn,
  rowList,
  textColumn,
} from '../../../platform/database/bulk-statement.ts';
import type { Column } from '../../../platform/database/bulk-statement.ts';
import type { Statement } from '../../../platform/database/run-statement.ts';
import { unwrittenRows } from '../../../platform/database/unwritten-rows.ts';
import { PaymentAttemptRow, WalletExchangeRow } from '../../database/order-entities.ts';
import { WalletReceiptRow } from '../../database/payer-payment-entities.ts';

/** The properties that the work on an attempt changes. The others hold the facts of its start. */
const work = {
  status: plainColumn('core.payment_attempt_status', (row) => row.status),
  declineReason: plainColumn('text', (row) => row.declineReason),
  updatedAt: plainColumn('timestamptz', (row) => row.updatedAt),
  settlementId: plainColumn('uuid', (row) => row.settlementId),
  walletAccountId: plainColumn('uuid', (row) => row.walletAccountId),
  dueAt: plainColumn('timestamptz', (row) => row.dueAt),
  leasedUntil: plainColumn('timestamptz', (row) => row.leasedUntil),
  leaseId: plainColumn('uuid', (row) => row.leaseId),
  leases: plainColumn('integer', (row) => row.leases),
  maybeSent: column('boolean', (row) => row.maybeSent),
  promptUntil: plainColumn('timestamptz', (row) => row.promptUntil),
  providerReference: textColumn('text', (row) => row.providerReference ?? null),
  providerTransactionId: textColumn('text', (row) => row.providerTransactionId ?? null),
  detail: textColumn('text', (row) => row.detail),
  nextAction: textColumn('jsonb', ({ nextAction: action }) =>
    action == null ? null : JSON.stringify(action),
  ),
  // PostgreSQL has no arrays of arrays that differ in length.
  callbackNotes: textColumn('text', (row) => arrayLiteral(row.callbackNotes)),
} satisfies Partial<Record<keyof PaymentAttemptRow, Column<PaymentAttemptRow>>>;

const workProperties = new Set(Object.keys(work) as (keyof typeof work)[]);
const columnNamed = (property: string): string =>
  property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const assignment = (property: keyof typeof work): string => {
  const name = columnNamed(property);
  return `${name} = changed.${name}${property === 'callbackNotes' ? '::text[]' : ''}`;
};

const changedAttempts = bulkStatement(
  'write-changed-attempts',
  {
    changed: rowList<PaymentAttemptRow>(
      {
        merchant_id: plainColumn('uuid', (row) => row.merchantId),
        id: plainColumn('uuid', (row) => row.id),
        ...Object.fromEntries(Object.entries(work).map(([property, each]) => [columnNamed(property), each])),
      },
      { hidesLength: true },
    ),
  },
  (sql) => `
update core.payment_attempts a set ${[...workProperties].map(assignment).join(', ')}
from ${sql.changed}
where a.merchant_id = changed.merchant_id and a.id = changed.id`,
);

const exchange = rowList<WalletExchangeRow>({
  merchant_id: plainColumn('uuid', (row) => row.merchantId),
  payment_attempt_id: plainColumn('uuid', (row) => row.paymentAttemptId),
  id: plainColumn('uuid', (row) => row.id),
  payload: column('bytea', (row) => row.payload),
});

const newExchanges = bulkStatement(
  'write-exchanges',
  { exchange },
  (sql) =>
    `insert into core.wallet_exchanges (${exchange.columns}) select ${exchange.columns} from ${sql.exchange}`,
);

const receipt = rowList<WalletReceiptRow>({
  environment: plainColumn('core.environment', (row) => row.environment),
  wallet: textColumn('text', (row) => row.wallet),
  provider_transaction_id: textColumn('text', (row) => row.providerTransactionId),
  merchant_id: plainColumn('uuid', (row) => row.merchantId),
  payment_attempt_id: plainColumn('uuid', (row) => row.paymentAttemptId),
});

const newReceipts = bulkStatement(
  'write-receipts',
  { receipt },
  (sql) =>
    `insert into core.wallet_receipts (${receipt.columns}) select ${receipt.columns} from ${sql.receipt}`,
);

/**
 * The statements that write the attempts, exchanges and receipts of a transaction, in place of the ORM. Undefined if the ORM must write something
 * else as well. It then writes all, because it knows which rows must come first.
 */
export function attemptStatements(em: EntityManager): Statement[] | undefined {
  const unwritten = unwrittenRows(em);
  const attempts = unwritten.changedOf(PaymentAttemptRow, workProperties);
  const exchanges = unwritten.createdOf(WalletExchangeRow);
  const receipts = unwritten.createdOf(WalletReceiptRow);
  if (attempts.length + exchanges.length + receipts.length < unwritten.count) return undefined;
  return [
    ...(attempts.length > 0 ? [changedAttempts.with({ changed: attempts })] : []),
    ...(exchanges.length > 0 ? [newExchanges.with({ exchange: exchanges })] : []),
    ...(receipts.length > 0 ? [newReceipts.with({ receipt: receipts })] : []),
  ];
}
