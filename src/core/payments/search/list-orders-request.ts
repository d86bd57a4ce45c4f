import { typedPhone } from '../../../contract/typed-phone.ts';
import type { ListOrdersRequest } from '../../../gen/gatehouse/v1/order_service_pb.js';
import { combine } from '../../domain/combine.ts';
import { Currency } from '../../domain/currency.ts';
import type { Issue } from '../../domain/issue.ts';
import { Money } from '../../domain/money.ts';
import { OrderNumber } from '../../domain/order-number.ts';
import { PhoneNumber } from '../../domain/phone-number.ts';
import { err, ok } from '../../domain/result.ts';
import type { Result } from '../../domain/result.ts';
import { parseWords } from '../../rpc/enum-words.ts';
import { parseEnvironment } from '../../rpc/environment.ts';
import { paymentOptionOf, paymentTypeOf, statusOf } from '../../rpc/order-messages.ts';
import { parsePageSize, parsePageToken } from '../../rpc/page-token.ts';
import { parseId } from '../../rpc/request-fields.ts';
import { parseEnd, parseTime, timeKey } from '../../rpc/time-fields.ts';
import type { OrderFilter } from './search-orders.ts';

/** Parses the filter of a list of orders. A page token is bound to `key`. */
export function parseOrderFilter(
  request: ListOrdersRequest,
  currencies: readonly string[],
): Result<{ filter: OrderFilter; key: unknown }, readonly Issue[]> {
  const key = keyOf(request);
  const parsed = combine({
    merchantId: parseId('mer', request.merchantId, 'merchant_id'),
    environment: parseEnvironment(request.environment),
    statuses: parseWords(request.statuses, statusOf, {
      field: 'statuses',
      issue: 'must be PENDING, COMPLETED, FAILED or EXPIRED',
    }),
    createdFrom: parseTime(request.createTimeFrom, 'create_time_from'),
    createdTo: parseEnd(request.createTimeTo, 'create_time_to', {
      from: request.createTimeFrom,
      fromField: 'create_time_from',
    }),
    orderNumber:
      request.orderNumber === '' ? ok(undefined) : OrderNumber.parse(request.orderNumber, 'order_number'),
    orderNumberPrefix: parsePrefix(request.orderNumberPrefix),
    completedFrom: parseTime(request.completeTimeFrom, 'complete_time_from'),
    completedTo: parseEnd(request.completeTimeTo, 'complete_time_to', {
      from: request.completeTimeFrom,
      fromField: 'complete_time_from',
    }),
    customerPhone: parsePhone(request.customerPhone, 'customer_phone'),
    phone: parsePhone(request.phone, 'phone'),
    providerTransactionId: parseTransaction(request.providerTransactionId),
    money: parseAmounts(request, currencies),
    paymentTypes: parseWords(request.paymentTypes, paymentTypeOf, {
      field: 'payment_types',
      issue: 'must be LINK, QR, DIRECT or API',
    }),
    paymentOptions: parseWords(request.paymentOptions, paymentOptionOf, {
      field: 'payment_options',
      issue: 'must be a wallet id with _ussd or _wallet, such as walleta_ussd',
    }),
    beforeId: parsePageToken(request.pageToken, 'ord', key),
    limit: parsePageSize(request.pageSize),
  });
  if (!parsed.ok) return parsed;
  const { money, ...filter } = parsed.value;
  return ok({ filter: { ...filter, ...money }, key });
}

/** All fields that select orders. */
const keyOf = (request: ListOrdersRequest): unknown => [
  request.merchantId,
  request.environment,
  request.statuses,
  timeKey(request.createTimeFrom),
  timeKey(request.createTimeTo),
  request.orderNumberPrefix,
  request.orderNumber,
  request.customerPhone,
  request.currency,
  request.amountFrom,
  request.amountTo,
  request.paymentTypes,
  request.paymentOptions,
  request.providerTransactionId,
  request.phone,
  timeKey(request.completeTimeFrom),
  timeKey(request.completeTimeTo),
];

function parsePrefix(prefix: string): Result<string | undefined, Issue> {
  if (prefix === '') return ok(undefined);
  if (!/^[\x21-\x7e]{1,64}$/.test(prefix)) {
    return err({
      field: 'order_number_prefix',
      issue: 'must be at most 64 printable ASCII characters without spaces',
    });
  }
  return ok(prefix);
}

/** Parses a phone number as people write it. */
export const readPhone = (text: string, field: string): Result<PhoneNumber, Issue> =>
  PhoneNumber.parse(typedPhone(text), field);

function parsePhone(text: string, field: string): Result<string | undefined, Issue> {
  if (text === '') return ok(undefined);
  const phone = readPhone(text, field);
  return phone.ok ? ok(phone.value.e164) : phone;
}

/** The maximum length of a wallet's transaction number. */
const longestTransaction = 800;

function parseTransaction(text: string): Result<string | undefined, Issue> {
  if (text === '') return ok(undefined);
  if (text.length > longestTransaction || /\p{Cc}/u.test(text))
    return err({
      field: 'provider_transaction_id',
      issue: `must be at most ${longestTransaction} characters without control characters`,
    });
  return ok(text);
}

type Amounts = Pick<OrderFilter, 'currency' | 'minMinorUnits' | 'maxMinorUnits'>;

function parseAmounts(
  { currency: code, amountFrom, amountTo }: ListOrdersRequest,
  currencies: readonly string[],
): Result<Amounts, readonly Issue[]> {
  if (code === '' && amountFrom === '' && amountTo === '') {
    return ok({ currency: undefined, minMinorUnits: undefined, maxMinorUnits: undefined });
  }
  const currency = Currency.parse(code, 'currency', currencies);
  if (!currency.ok) return err([currency.error]);
  const minorUnits = (text: string, field: string): Result<bigint | undefined, Issue> => {
    if (text === '') return ok(undefined);
    const money = Money.parse(text, field, currency.value);
    return money.ok ? ok(money.value.minorUnits) : money;
  };
  const amounts = combine({
    minMinorUnits: minorUnits(amountFrom, 'amount_from'),
    maxMinorUnits: minorUnits(amountTo, 'amount_to'),
  });
  if (!amounts.ok) return amounts;
  const { minMinorUnits, maxMinorUnits } = amounts.value;
  if (minMinorUnits !== undefined && maxMinorUnits !== undefined && minMinorUnits > maxMinorUnits)
    return err([{ field: 'amount_to', issue: 'must be at least amount_from' }]);
  return ok({ currency: currency.value.code, minMinorUnits, maxMinorUnits });
}
