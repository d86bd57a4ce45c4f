import { largeIndexTask } from '../../platform/database/large-indexes.ts';
import type { LargeIndex } from '../../platform/database/large-indexes.ts';
import type { Database } from './database.ts';

const lockKey = 7_142_011;

/** Orders whose number has capitals and small letters, which are few, so the index is small and cheap to keep. */
export const mixedCapitals = 'order_number <> lower(order_number) and order_number <> upper(order_number)';

/** The digits of what payers typed and wallets answered about payments that payers started: see `core.seven_digits`. */
export const payerPaymentDigits = 'core.seven_digits(array[reference, detail] || callback_notes)';

export const mixedCapitalsIndex = 'orders_mixed_capitals';

const indexes: readonly LargeIndex[] = [
  {
    name: mixedCapitalsIndex,
    table: 'core.orders',
    definition: `(merchant_id, environment, lower(order_number)) where ${mixedCapitals}`,
  },
  {
    name: 'payer_payments_digits',
    table: 'core.payer_payments',
    definition: `using gin (${payerPaymentDigits})`,
  },
  {
    name: 'erasures_due_turn',
    table: 'core.erasures_due',
    definition: '((request_id is null), due_at)',
  },
  {
    name: 'erasures_due_merchant_turn',
    table: 'core.erasures_due',
    definition: '(merchant_id, (request_id is null), due_at)',
  },
  {
    name: 'reconciliations_day',
    table: 'core.reconciliations',
    definition: '(environment, wallet, day, id)',
  },
  {
    // Keys that were rotated expire, and their number has no limit.
    name: 'api_keys_unrevoked',
    table: 'core.api_keys',
    definition: '(merchant_id, expires_at) where revoked_at is null',
  },
  {
    name: 'refunds_awaiting_approval',
    table: 'core.refunds',
    definition: "(merchant_id, environment, id) where status = 'AWAITING_APPROVAL'",
  },
  {
    name: 'refunds_open',
    table: 'core.refunds',
    definition: "(merchant_id, environment, id) where status = 'REVERSAL_DUE'",
  },
  {
    name: 'refunds_failed',
    table: 'core.refunds',
    definition: "(merchant_id, environment, id) where status in ('APPROVAL_DECLINED', 'REVERSAL_REFUSED')",
  },
  {
    // For one order, whose refunds have no limit.
    name: 'refunds_undecided',
    table: 'core.refunds',
    definition: "(merchant_id, order_id, id) where status in ('AWAITING_APPROVAL', 'REVERSAL_DUE')",
  },
  {
    // For lists of a merchant. The next one is for reconciliations.
    name: 'refunds_reversed',
    table: 'core.refunds',
    definition: "(merchant_id, environment, id) where status = 'REVERSED'",
  },
  {
    name: 'refunds_completed',
    table: 'core.refunds',
    definition: "(environment, payment_option, updated_at) where status = 'REVERSED'",
  },
  {
    // For lists of all merchants.
    name: 'stray_payments_newest',
    table: 'core.stray_payments',
    definition: '(environment, id)',
  },
  {
    name: 'stray_payments_open',
    table: 'core.stray_payments',
    definition: "(merchant_id, id) where status <> 'REVERSED'",
  },
  {
    name: 'stray_payments_open_of_order',
    table: 'core.stray_payments',
    definition: "(merchant_id, order_id, id) where status <> 'REVERSED'",
  },
  {
    // Most payments are made to the operator's account, and are not in it.
    name: 'payment_attempts_own_succeeded',
    table: 'core.payment_attempts',
    definition:
      "(wallet_account_id, updated_at) where status = 'SUCCEEDED' and wallet_account_id is not null",
  },
  {
    // With `payment_attempts_one_open`, all attempts of an order. Most payments succeed at once, and are not in it.
    name: 'payment_attempts_failed_of_order',
    table: 'core.payment_attempts',
    definition: "(merchant_id, order_id) where status in ('DECLINED', 'TIMED_OUT')",
  },
  {
    name: 'money_days_newest',
    table: 'core.money_days',
    definition: '(day desc, environment, wallet, merchant_id, currency)',
  },
];

/** The task that creates core's large indexes. */
export const createIndexTask = ({ pool }: Pick<Database, 'pool'>): ((stop: AbortSignal) => Promise<void>) =>
  largeIndexTask({ pool, indexes, lockKey });
