import { isPaymentOption } from '../../contract/payment-option.ts';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { ListOrdersRequestSchema } from '../../gen/gatehouse/v1/order_service_pb.js';
import { dayNamed } from '../local-time.ts';
import type { LocalDay } from '../local-time.ts';
import { queryOf, textIn } from '../page-query.ts';
import { orderStatuses, paymentTypes } from './order-words.ts';

const fields = [
  'number',
  'phone',
  'transaction',
  'amount_from',
  'amount_to',
  'currency',
  'status',
  'option',
  'type',
  'from',
  'to',
  'paid_from',
  'paid_to',
] as const;
type Field = (typeof fields)[number];

const dayFields = ['from', 'to', 'paid_from', 'paid_to'] as const;

/** The filter of the list of orders, from the page's query. */
export interface OrderSearch {
  readonly values: Readonly<Record<Field, string>>;
  readonly isEmpty: boolean;
  /** Whether one of the additional filters is set. */
  readonly hasMore: boolean;
  readonly pageToken: string;
  /** Whether an amount has no currency, so that it means the merchant's first one. */
  readonly lacksCurrency: boolean;
  /** The fields of the ListOrders request. */
  readonly conditions: MessageInitShape<typeof ListOrdersRequestSchema>;
  /** The fields with an invalid day. */
  readonly wrongDays: readonly Field[];
  /** The query of the same search at a page token. */
  readonly query: (pageToken?: string) => string;
}

const timestampOf = (at: Date | undefined) => (at === undefined ? undefined : timestampFromDate(at));

export function readOrderSearch(query: unknown, timeZone: string): OrderSearch {
  const given = (name: string): string => textIn(query, name);
  const values = Object.fromEntries(fields.map((name) => [name, given(name)])) as Record<Field, string>;
  const hasAmount = values.amount_from !== '' || values.amount_to !== '';
  const day = (name: (typeof dayFields)[number]): LocalDay | undefined => dayNamed(values[name], timeZone);
  const begin = (name: 'from' | 'paid_from') => timestampOf(day(name)?.from);
  const end = (name: 'to' | 'paid_to') => timestampOf(day(name)?.to);
  const one = <Value>(table: Readonly<Record<string, Value>>, name: string): Value[] => {
    const value = Object.hasOwn(table, name) ? table[name] : undefined;
    return value === undefined ? [] : [value];
  };
  return {
    values,
    isEmpty: fields.every((name) => values[name] === ''),
    hasMore: fields.slice(3).some((name) => name !== 'status' && values[name] !== ''),
    pageToken: given('page'),
    lacksCurrency: hasAmount && values.currency === '',
    wrongDays: dayFields.filter((name) => values[name] !== '' && day(name) === undefined),
    conditions: {
      orderNumberPrefix: values.number,
      phone: values.phone,
      providerTransactionId: values.transaction,
      currency: values.currency.toUpperCase(),
      amountFrom: values.amount_from,
      amountTo: values.amount_to,
      statuses: one(orderStatuses, values.status),
      paymentOptions: isPaymentOption(values.option) ? [values.option] : [],
      paymentTypes: one(paymentTypes, values.type),
      createTimeFrom: begin('from'),
      createTimeTo: end('to'),
      completeTimeFrom: begin('paid_from'),
      completeTimeTo: end('paid_to'),
    },
    query: (pageToken = '') => queryOf({ ...values, page: pageToken }),
  };
}

/** The field of the page for each field of ListOrders. */
export const searchFieldOf: Readonly<Record<string, Field>> = {
  order_number_prefix: 'number',
  phone: 'phone',
  provider_transaction_id: 'transaction',
  currency: 'currency',
  amount_from: 'amount_from',
  amount_to: 'amount_to',
  create_time_from: 'from',
  create_time_to: 'to',
  complete_time_from: 'paid_from',
  complete_time_to: 'paid_to',
};
