import { publicId } from '../../test/support/ids.ts';

/** A table with rows that move with their merchant. */
export interface MovedTable {
  readonly name: string;
  /** The columns of the primary key. */
  readonly primaryKey: readonly string[];
  /**
   * The column that names changed rows, with its type. A move notes every change of such a table while it copies. All other tables have
   * few rows of a merchant, and are copied as a whole each time.
   */
  readonly key?: { readonly column: string; readonly type: 'uuid' | 'text' };
  /** The column with the time from which a process may take a row as work. */
  readonly due?: string;
  /** Whether rows are only ever added. */
  readonly isAppended?: boolean;
  /** The column with the end of a row, which any process deletes after it. */
  readonly end?: string;
  /** The columns whose update is a change of the merchant; all if undefined. */
  readonly guardedColumns?: readonly string[];
}

const id = { column: 'id', type: 'uuid' } as const;

/** In an order in which the rows that others refer to come first. */
export const movedTables: readonly MovedTable[] = [
  { name: 'core.merchants', primaryKey: ['id'] },
  // Without the time of the last use, which is written for the keys of all merchants together.
  {
    name: 'core.api_keys',
    primaryKey: ['merchant_id', 'id'],
    guardedColumns: ['expires_at', 'revoked_at', 'scopes'],
  },
  { name: 'core.wallet_accounts', primaryKey: ['merchant_id', 'id'], due: 'check_due_at' },
  { name: 'core.payee_accounts', primaryKey: ['merchant_id', 'wallet_account_id'] },
  { name: 'core.certifications', primaryKey: ['merchant_id', 'part'] },
  { name: 'webhooks.signing_secrets', primaryKey: ['merchant_id', 'environment', 'id'] },
  { name: 'webhooks.webhook_endpoints', primaryKey: ['merchant_id', 'id'] },
  {
    name: 'webhooks.webhook_endpoint_types',
    primaryKey: ['merchant_id', 'endpoint_id', 'event_type'],
  },
  { name: 'core.orders', primaryKey: ['merchant_id', 'environment', 'id'], key: id, due: 'sweep_at' },
  { name: 'core.payment_attempts', primaryKey: ['merchant_id', 'id'], key: id, due: 'due_at' },
  {
    name: 'core.wallet_exchanges',
    primaryKey: ['merchant_id', 'payment_attempt_id', 'id'],
    key: { column: 'payment_attempt_id', type: 'uuid' },
    isAppended: true,
  },
  {
    name: 'core.wallet_receipts',
    primaryKey: ['environment', 'wallet', 'provider_transaction_id'],
    key: { column: 'provider_transaction_id', type: 'text' },
  },
  { name: 'core.refunds', primaryKey: ['merchant_id', 'id'], key: id, due: 'due_at' },
  { name: 'core.stray_payments', primaryKey: ['merchant_id', 'id'], key: id, due: 'due_at' },
  { name: 'core.settlements', primaryKey: ['id'], key: id },
  {
    name: 'core.idempotency_keys',
    primaryKey: ['merchant_id', 'environment', 'operation', 'key'],
    key: { column: 'key', type: 'text' },
    end: 'expires_at',
  },
  { name: 'core.audit_entries', primaryKey: ['id'], key: id, isAppended: true },
  {
    name: 'core.order_events',
    primaryKey: ['merchant_id', 'order_id', 'sequence'],
    key: { column: 'order_id', type: 'uuid' },
    isAppended: true,
  },
];

export const tablesWithWork = movedTables.filter(({ due }) => due !== undefined);

/** The column that names the merchant. */
export const merchantColumn = ({ name }: MovedTable): string =>
  name === 'core.merchants' ? 'id' : 'merchant_id';

/** The merchant's id as the table has it. */
export const merchantIn = ({ name }: MovedTable, storedMerchantId: string): string =>
  name.startsWith('webhooks.') ? publicId('mer', storedMerchantId) : storedMerchantId;

/*
 * Work is parked by a time that no process reaches. So rows that are copied, and rows whose merchant has left, are no work. A row keeps its time:
 * it only moves by a constant.
 */

const parkedFrom = `timestamptz '2500-01-01 00:00:00Z'`;
const parkedBy = `interval '8766000 hours'`;

const isParked = (column: string): string => `${column} >= ${parkedFrom}`;
export const isNotParked = (column: string): string => `${column} < ${parkedFrom}`;
/** An expression that parks, and leaves parked and missing times as they are. */
export const parked = (column: string): string =>
  `case when ${isNotParked(column)} then ${column} + ${parkedBy} else ${column} end`;
export const notParked = (column: string): string =>
  `case when ${isParked(column)} then ${column} - ${parkedBy} else ${column} end`;
