import type pg from 'pg';
import { storedId } from './ids.ts';
import type { Environment } from '../../src/gen/gatehouse/v1/order_pb.js';
import { MerchantService } from '../../src/gen/gatehouse/v1/merchant_service_pb.js';
import { OrderService } from '../../src/gen/gatehouse/v1/order_service_pb.js';
import { registration } from './order-requests.ts';
import type { Stack } from './stack.ts';
import { connectToDatabase } from './database-connections.ts';

/** An order that a customer can open. */
export interface CheckoutOrder {
  readonly merchantId: string;
  readonly orderId: string;
  /** The one-time token of its URL. */
  readonly token: string;
  /** The page's address at the stack's checkout process. */
  readonly url: string;
}

/** The values that matter to a test. All others have defaults. */
export interface OwnOrder {
  readonly orderNumber?: string;
  readonly merchantName?: string;
  readonly contact?: { readonly phone: string; readonly email: string };
  readonly businessName?: string;
  readonly amount?: string;
  readonly currency?: string;
  readonly reason?: string;
  readonly customerPhone?: string;
  readonly returnUrl?: string;
  readonly environment?: Environment;
}

/** The outcome that a wallet gave to an attempt and its order. */
export interface Settlement {
  readonly attempt: 'SENT' | 'UNKNOWN' | 'SUCCEEDED' | 'DECLINED' | 'TIMED_OUT';
  readonly order?: 'PENDING' | 'COMPLETED' | 'FAILED' | 'EXPIRED';
  readonly declineReason?: string;
  /** The page of the wallet that the payer must open. */
  readonly redirectUrl?: string;
}

export interface AttemptRow {
  readonly status: string;
  readonly phone: string;
  readonly payment_option: string;
}

export type CheckoutOrders = Awaited<ReturnType<typeof openCheckoutOrders>>;

/** Orders at a checkout, with direct access to their rows in the database. */
export async function openCheckoutOrders(stack: Stack) {
  const orders = stack.client(OrderService, 'writer');
  const merchants = stack.client(MerchantService, 'operator');
  const database = await connectToDatabase(stack.databaseUrl);
  const keyOf = ({ merchantId, orderId }: CheckoutOrder) => [
    storedId('mer', merchantId),
    storedId('ord', orderId),
  ];
  const query = async <R extends pg.QueryResultRow>(
    order: CheckoutOrder,
    sql: string,
    values: unknown[] = [],
  ) => {
    const { rows } = await database.query<R>(sql, [...keyOf(order), ...values]);
    return rows;
  };
  /** Gives an order's running attempt, and the order, an outcome that only a wallet can give. */
  const settle = async (
    order: CheckoutOrder,
    { attempt, order: status = 'PENDING', declineReason, redirectUrl }: Settlement,
  ): Promise<void> => {
    await query(
      order,
      `update core.payment_attempts set status = $3::core.payment_attempt_status, decline_reason = $4, due_at = null, next_action = $5,
           provider_transaction_id = case when $3::core.payment_attempt_status = 'SUCCEEDED' then upper(right(replace(id::text, '-', ''), 12)) end
         where merchant_id = $1 and order_id = $2 and status in ('REQUESTED', 'SENT', 'UNKNOWN')`,
      [
        attempt,
        attempt === 'DECLINED' ? (declineReason ?? 'provider_error') : null,
        redirectUrl === undefined ? null : { kind: 'redirect', url: redirectUrl },
      ],
    );
    await query(
      order,
      `update core.orders set status = $3::core.order_status,
           sweep_at = case when $3::core.order_status = 'PENDING' then sweep_at end,
           updated_at = now(),
           deducted_minor_units = case when $3::core.order_status = 'COMPLETED' then amount_minor_units else 0 end
         where merchant_id = $1 and id = $2`,
      [status],
    );
  };
  let orderNumbers = 0;
  return {
    async register({
      merchantName = 'Abeba Trading',
      contact,
      ...own
    }: OwnOrder = {}): Promise<CheckoutOrder> {
      const { merchant } = await merchants.createMerchant({ name: merchantName, productionActivated: true });
      const merchantId = merchant?.merchantId ?? '';
      if (contact !== undefined) await merchants.updateMerchant({ merchantId, contact });
      orderNumbers += 1;
      const { order, checkoutUrl } = await orders.registerOrder(
        registration({ orderNumber: `A-${orderNumbers}`, ...own, merchantId }),
      );
      const token = checkoutUrl.split('/').at(-1) ?? '';
      const url = `${stack.checkouts[0]?.origin ?? ''}/c/${token}`;
      return { merchantId, orderId: order?.orderId ?? '', token, url };
    },
    settle,
    /** Ends the order as if the wallet declined the last allowed attempt. */
    async useUpAttempts(order: CheckoutOrder) {
      await settle(order, { attempt: 'DECLINED', order: 'FAILED' });
      await query(order, 'update core.orders set attempt_count = 5 where merchant_id = $1 and id = $2');
    },
    /** Moves the end of the payment session. The order itself does not change. */
    async endSessionIn(order: CheckoutOrder, seconds: number) {
      await query(
        order,
        `update core.orders set expires_at = now() + make_interval(secs => $3), sweep_at = now() + interval '1 hour'
         where merchant_id = $1 and id = $2`,
        [seconds],
      );
    },
    /** Moves the time of the outcome into the past. */
    async decidedAgo(order: CheckoutOrder, seconds: number) {
      await query(
        order,
        `update core.orders set updated_at = now() - make_interval(secs => $3) where merchant_id = $1 and id = $2`,
        [seconds],
      );
    },
    /** Expires the order without a payment, as the sweep does. */
    async expire(order: CheckoutOrder) {
      await query(
        order,
        `update core.orders set status = 'EXPIRED', sweep_at = null where merchant_id = $1 and id = $2`,
      );
    },
    attempts: (order: CheckoutOrder) =>
      query<AttemptRow>(
        order,
        `select status, phone, payment_option from core.payment_attempts
         where merchant_id = $1 and order_id = $2 order by created_at`,
      ),
    /** All rows about an order, for comparison with earlier ones. */
    async rows(order: CheckoutOrder) {
      const tables = {
        orders: 'select o.*, o.xmin from core.orders o where merchant_id = $1 and id = $2',
        attempts: `select a.*, a.xmin from core.payment_attempts a where merchant_id = $1 and order_id = $2 order by id`,
        events: `select e.*, e.xmin from core.order_events e where merchant_id = $1 and order_id = $2 order by sequence`,
      };
      const found: Record<string, unknown> = {};
      for (const [table, sql] of Object.entries(tables)) found[table] = await query(order, sql);
      return found;
    },
    close: () => database.end(),
  };
}
