import type pg from 'pg';
import { v7 } from 'uuid';
import { insertRow } from '../../support/insert-row.ts';

// Rows for tests of statements. A test names the columns that matter to it.

type Database = Pick<pg.Pool, 'query'>;
type Columns = Readonly<Record<string, unknown>>;

async function insertWithId(database: Database, table: string, row: Columns): Promise<string> {
  const now = new Date();
  const id = v7();
  await insertRow(database, `core.${table}`, { id, created_at: now, updated_at: now, ...row });
  return id;
}

/** A merchant. Returns its id. */
export const insertMerchant = (database: Database): Promise<string> =>
  insertWithId(database, 'merchants', {
    ...{ name: 'Shop', status: 'ACTIVE', production_activated: false, session_lifetime_seconds: 1800 },
  });

/** An open order of the sandbox, whose session has ended. Returns its id. */
export const insertOrder = (
  database: Database,
  own: { readonly merchant_id: string } & Columns,
): Promise<string> =>
  insertWithId(database, 'orders', {
    ...{ environment: 'SANDBOX', order_number: v7(), status: 'PENDING', payment_type: 'API' },
    ...{ amount_text: '100.50', amount_minor_units: 10_050, deducted_minor_units: 0, currency: 'ETB' },
    ...{ customer_phone: '0911223344', customer_phone_e164: '+251911223344', reason: 'Shoes' },
    ...{ business_name: '', return_url: 'https://shop.example', webhook_url: '' },
    ...{ last_event_sequence: 1, attempt_count: 0, expires_at: new Date(), sweep_at: new Date() },
    ...own,
  });

/** An attempt to pay an order of the sandbox. Returns its id. */
export const insertAttempt = (
  database: Database,
  own: { readonly merchant_id: string; readonly order_id: string } & Columns,
): Promise<string> =>
  insertWithId(database, 'payment_attempts', {
    ...{ environment: 'SANDBOX', status: 'REQUESTED', payment_option: 'walleta_ussd' },
    ...{ phone: '+251911223344', ...own },
  });

/** A payment of the sandbox that its payer started, and that paid nothing. Returns its id. */
export const insertPayerPayment = (database: Database, own: Columns): Promise<string> =>
  insertWithId(database, 'payer_payments', {
    ...{ environment: 'SANDBOX', wallet: 'walleta', payment_option: 'walleta_ussd', payee: '1' },
    ...{ provider_transaction_id: v7(), reference: 'typed', amount: '1.00', currency: 'ETB' },
    ...{ status: 'NO_PAYMENT', ...own },
  });
