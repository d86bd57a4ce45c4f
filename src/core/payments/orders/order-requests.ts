import { durationMs } from '@bufbuild/protobuf/wkt';
import type {
  GetOrderRequest,
  RegisterOrderRequest,
  StartDirectPaymentRequest,
  WaitOrderRequest,
} from '../../../gen/gatehouse/v1/order_service_pb.js';
import { PaymentType as PaymentTypeMessage } from '../../../gen/gatehouse/v1/order_pb.js';
import { combine } from '../../domain/combine.ts';
import { Currency } from '../../domain/currency.ts';
import { HttpUrl } from '../../domain/http-url.ts';
import type { Issue } from '../../domain/issue.ts';
import { Money } from '../../domain/money.ts';
import type { Environment, OrderFacts, PaymentOption, PaymentType } from '../../domain/order.ts';
import { OrderNumber } from '../../domain/order-number.ts';
import { PhoneNumber } from '../../domain/phone-number.ts';
import { err, ok } from '../../domain/result.ts';
import type { Result } from '../../domain/result.ts';
import { offeredOptions } from '../../domain/wallet.ts';
import type { Wallet } from '../../domain/wallet.ts';
import { parseText } from '../../domain/text.ts';
import { parseEnvironment } from '../../rpc/environment.ts';
import { parseOrderKey } from '../../rpc/order-key.ts';
import { parseId } from '../../rpc/request-fields.ts';
import { paymentOptionOf, paymentTypeOf } from '../../rpc/order-messages.ts';
import type { PublicId } from '../../../contract/public-id.ts';
import type { OrderName } from '../search/find-order.ts';
import type { OrderWait } from './wait-for-order.ts';

/** The facts about an order that come from the merchant. Gatehouse adds the others. */
export interface Registration extends Omit<OrderFacts, 'id' | 'createdAt' | 'expiresAt'> {
  /** The length of the payment session; the merchant's default when undefined. */
  readonly sessionLifetimeMs: number | undefined;
}

export interface DirectPayment {
  readonly merchantId: PublicId<'mer'>;
  readonly environment: Environment;
  readonly orderNumber: string;
  readonly amount: Money;
  readonly phone: PhoneNumber;
  readonly paymentOption: PaymentOption;
}

type Parsed<T> = Result<T, readonly Issue[]>;

const reasonLength = 255;
const businessNameLength = 128;

/** The valid values of a request that the merchant's terms restrict. */
export interface AskedOfTerms {
  readonly merchantId: PublicId<'mer'> | undefined;
  readonly environment: Environment | undefined;
  readonly currency: Currency | undefined;
  readonly amount: Money | undefined;
  readonly paymentOption: PaymentOption | undefined;
}

/** Also reports an invalid amount when the currency is invalid. */
function parseMoney(amount: string, currency: string, accepted: readonly string[]): Parsed<Money> {
  const parsed = Currency.parse(currency, 'currency', accepted);
  if (parsed.ok) {
    const money = Money.parse(amount, 'amount', parsed.value);
    return money.ok ? money : err([money.error]);
  }
  const text = Money.parseText(amount, 'amount');
  return err(text.ok ? [parsed.error] : [text.error, parsed.error]);
}

function parsePaymentType(number: PaymentTypeMessage): Result<PaymentType, Issue> {
  const type = number === PaymentTypeMessage.UNSPECIFIED ? 'API' : paymentTypeOf(number);
  if (type === undefined || type === 'DIRECT')
    return err({ field: 'payment_type', issue: 'must be API, LINK or QR' });
  return ok(type);
}

function parsePaymentOption(
  request: StartDirectPaymentRequest,
  wallets: readonly Wallet[],
): Result<PaymentOption, Issue> {
  const field = 'payment_option';
  const environment = parseEnvironment(request.environment);
  const offered = (environment.ok ? offeredOptions(wallets, environment.value) : []).filter((option) =>
    option.endsWith('_ussd'),
  );
  const option = paymentOptionOf(request.paymentOption);
  const isDirect = option?.endsWith('_ussd') ?? false;
  if (option !== undefined && isDirect && (offered.includes(option) || !environment.ok)) return ok(option);
  if (offered.length === 0 && environment.ok) {
    const issue = `is not available in ${environment.value.toLowerCase()}: no wallet there can send a prompt to a phone`;
    return err({ field, issue });
  }
  const allowed = offered.length === 0 ? 'an option such as walleta_ussd' : `one of ${offered.join(', ')}`;
  return err({
    field,
    issue: request.paymentOption === '' ? `is required; ${allowed}` : `must be ${allowed}`,
  });
}

const isLink = ({ paymentType }: RegisterOrderRequest): boolean =>
  paymentType === PaymentTypeMessage.LINK || paymentType === PaymentTypeMessage.QR;

/** The creator of a link need not know the payer, who enters the phone number at checkout. */
function parseCustomerPhone(request: RegisterOrderRequest): Result<PhoneNumber, Issue> {
  if (request.customerPhone === '' && isLink(request)) return ok({ asGiven: '', e164: '' });
  return PhoneNumber.parse(request.customerPhone, 'customer_phone');
}

/** A link may be sent by mail or printed, so a return page is optional. */
function parseReturnUrl(request: RegisterOrderRequest, environment: Environment): Result<string, Issue> {
  if (request.returnUrl === '' && isLink(request)) return ok('');
  return HttpUrl.parse(request.returnUrl, 'return_url', environment);
}

const minLifetimeMs = 5 * 60_000;
const maxLifetimeMs = 30 * 86_400_000;

function parseLifetime(request: RegisterOrderRequest): Result<number | undefined, Issue> {
  const field = 'session_lifetime';
  if (request.sessionLifetime === undefined) return ok(undefined);
  if (!isLink(request)) return err({ field, issue: 'is only for orders of type LINK or QR' });
  const lifetimeMs = durationMs(request.sessionLifetime);
  if (!(lifetimeMs >= minLifetimeMs && lifetimeMs <= maxLifetimeMs) || lifetimeMs % 1000 !== 0) {
    return err({ field, issue: 'must be 5 minutes to 30 days, in whole seconds' });
  }
  return ok(lifetimeMs);
}

/** Parses an order to register, and reports all invalid fields. */
export function parseRegistration(
  request: RegisterOrderRequest,
  currencies: readonly string[],
): Parsed<Registration> {
  const environment = parseEnvironment(request.environment);
  // While the environment is unknown, production's stricter rule would report the wrong field.
  const urlsIn = environment.ok ? environment.value : 'SANDBOX';
  return combine({
    merchantId: parseId('mer', request.merchantId, 'merchant_id'),
    environment,
    orderNumber: OrderNumber.parse(request.orderNumber, 'order_number'),
    returnUrl: parseReturnUrl(request, urlsIn),
    webhookUrl: request.webhookUrl === '' ? ok('') : HttpUrl.parse(request.webhookUrl, 'webhook_url', urlsIn),
    amount: parseMoney(request.amount, request.currency, currencies),
    reason: parseText(request.reason, 'reason', { max: reasonLength, required: true }),
    customerPhone: parseCustomerPhone(request),
    sessionLifetimeMs: parseLifetime(request),
    businessName: parseText(request.businessName, 'business_name', {
      max: businessNameLength,
      required: false,
    }),
    paymentType: parsePaymentType(request.paymentType),
  });
}

/** Parses a direct payment, and reports all invalid fields. */
export function parseDirectPayment(
  request: StartDirectPaymentRequest,
  currencies: readonly string[],
  wallets: readonly Wallet[],
): Parsed<DirectPayment> {
  return combine({
    merchantId: parseId('mer', request.merchantId, 'merchant_id'),
    environment: parseEnvironment(request.environment),
    paymentOption: parsePaymentOption(request, wallets),
    amount: parseMoney(request.amount, request.currency, currencies),
    orderNumber: OrderNumber.parse(request.orderNumber, 'order_number'),
    phone: PhoneNumber.parse(request.phone, 'phone'),
  });
}

/** Parses the values that the merchant's terms restrict, even if other fields are invalid. */
export function readForTerms(
  request: RegisterOrderRequest | StartDirectPaymentRequest,
  accepted: readonly string[],
): AskedOfTerms {
  const merchantId = parseId('mer', request.merchantId, 'merchant_id');
  const environment = parseEnvironment(request.environment);
  const currency = Currency.parse(request.currency, 'currency', accepted);
  const amount = parseMoney(request.amount, request.currency, accepted);
  return {
    merchantId: merchantId.ok ? merchantId.value : undefined,
    environment: environment.ok ? environment.value : undefined,
    currency: currency.ok ? currency.value : undefined,
    amount: amount.ok ? amount.value : undefined,
    paymentOption: 'paymentOption' in request ? paymentOptionOf(request.paymentOption) : undefined,
  };
}

/** Parses the name of the requested order. */
export function parseOrderName(request: GetOrderRequest | WaitOrderRequest): Parsed<OrderName> {
  const named = combine({
    merchantId: parseId('mer', request.merchantId, 'merchant_id'),
    environment: parseEnvironment(request.environment),
    key: parseOrderKey(request.key),
  });
  if (!named.ok) return named;
  const { merchantId, environment, key } = named.value;
  return ok({ merchantId, environment, ...key });
}

/** The longest wait for an order, and the default. */
const maxWaitSeconds = 30;

/** The awaited state, and the time limit. */
export function parseOrderWait(request: WaitOrderRequest): Parsed<OrderWait> {
  const { knownSequence, timeout } = request;
  const waitMs = timeout === undefined ? maxWaitSeconds * 1_000 : durationMs(timeout);
  return combine({
    name: parseOrderName(request),
    knownSequence:
      knownSequence === undefined || knownSequence >= 0n
        ? ok(knownSequence)
        : err({ field: 'known_sequence', issue: 'must not be negative' }),
    timeoutMs:
      waitMs >= 0 && waitMs <= maxWaitSeconds * 1_000
        ? ok(waitMs)
        : err({ field: 'timeout', issue: `must be 0s to ${maxWaitSeconds}s` }),
  });
}
