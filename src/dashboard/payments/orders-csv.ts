import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { OrderStatus, PaymentType } from '../../gen/gatehouse/v1/order_pb.js';
import type { Order } from '../../gen/gatehouse/v1/order_pb.js';
import type { ListOrdersResponse } from '../../gen/gatehouse/v1/order_service_pb.js';
import { csvField, csvLine, csvMark, csvName } from '../csv/csv-text.ts';
import { csvTimes } from '../csv/csv-time.ts';

interface Column {
  readonly name: string;
  readonly field: (order: Order, page: OrdersPage) => string;
}

type OrdersPage = Pick<ListOrdersResponse, 'orders' | 'providerTransactionIds' | 'payerPhones'>;

/** Orders as a table in CSV. */
export interface OrdersCsv {
  /** The lines before the first order. */
  readonly start: string;
  readonly lines: (page: OrdersPage) => string;
}

/** Times are in the IANA time zone that the heading names. */
export function ordersCsv(timeZone: string): OrdersCsv {
  const times = csvTimes(timeZone);
  const time = (name: string, of: (order: Order) => Timestamp | undefined): Column => ({
    name: `${name} (${timeZone})`,
    field: (order) => times(of(order)),
  });
  // Programs of merchants read columns by their place, so a new one goes to the end.
  const columns: readonly Column[] = [
    { name: 'order_id', field: (order) => csvField(order.orderId) },
    { name: 'order_number', field: (order) => csvName(order.orderNumber) },
    { name: 'status', field: (order) => csvField(OrderStatus[order.status]) },
    { name: 'amount', field: (order) => csvField(order.amount) },
    { name: 'deducted', field: (order) => csvField(order.deducted) },
    { name: 'currency', field: (order) => csvField(order.currency) },
    { name: 'payment_option', field: (order) => csvField(order.paymentOption) },
    {
      name: 'wallet_transaction',
      field: ({ orderId }, page) => csvName(page.providerTransactionIds[orderId] ?? ''),
    },
    { name: 'payment_type', field: (order) => csvField(PaymentType[order.paymentType]) },
    { name: 'customer_phone', field: (order) => csvName(order.customerPhone) },
    { name: 'reason', field: (order) => csvName(order.reason) },
    { name: 'business_name', field: (order) => csvName(order.businessName) },
    time('created', (order) => order.createTime),
    time('updated', (order) => order.updateTime),
    time('expires', (order) => order.expireTime),
    { name: 'payer_phone', field: ({ orderId }, page) => csvName(page.payerPhones[orderId] ?? '') },
    { name: 'refunded', field: (order) => csvField(order.refunded) },
  ];
  return {
    start: csvMark + csvLine(columns.map(({ name }) => csvField(name))),
    lines: (page) =>
      page.orders.map((order) => csvLine(columns.map(({ field }) => field(order, page)))).join(''),
  };
}
