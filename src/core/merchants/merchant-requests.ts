import { create } from '@bufbuild/protobuf';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { Duration } from '@bufbuild/protobuf/wkt';
import { MemberRole } from '../../gen/gatehouse/v1/account_service_pb.js';
import { MerchantTermsSchema } from '../../gen/gatehouse/v1/merchant_service_pb.js';
import type {
  ApprovalLimit,
  LargestAmount,
  MerchantContact,
  MerchantTerms as TermsMessage,
  UpdateMerchantRequest,
} from '../../gen/gatehouse/v1/merchant_service_pb.js';
import { combine } from '../domain/combine.ts';
import { Currency } from '../domain/currency.ts';
import type { Issue } from '../domain/issue.ts';
import { Money } from '../domain/money.ts';
import type { PaymentOption } from '../domain/order.ts';
import type { RefundLimits, RefundingRole } from '../domain/refund-limits.ts';
import { offeredOptions } from '../domain/wallet.ts';
import type { Wallet } from '../domain/wallet.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';
import { parseText } from '../domain/text.ts';
import { paymentOptionOf } from '../rpc/order-messages.ts';
import { refundingRoles } from '../rpc/refund-policy-message.ts';
import { valuesOrThrow } from '../rpc/request-fields.ts';
import type { Merchant, MerchantUpdate } from './merchant-store.ts';
import type { AgreedTerms } from '../domain/merchant-terms.ts';

export const nameLength = 128;
const standardSessionSeconds = 30 * 60;
const minSessionSeconds = 5 * 60;
const maxSessionSeconds = 24 * 60 * 60;
const maxRequestsPerSecond = 100_000;

/** In seconds. The default is 30 minutes. */
export function parseSessionLifetime(duration: Duration | undefined): Result<number, Issue> {
  if (duration === undefined) return ok(standardSessionSeconds);
  const seconds = Number(duration.seconds);
  if (duration.nanos !== 0 || seconds < minSessionSeconds || seconds > maxSessionSeconds) {
    return err({
      field: 'session_lifetime',
      issue: 'must be whole seconds from 300s (5 minutes) to 86400s (24 hours)',
    });
  }
  return ok(seconds);
}

/** The values that the terms of a merchant can name: the currencies of this deployment, and the configured wallets. */
export interface Configured {
  readonly currencies: readonly string[];
  readonly wallets: readonly Wallet[];
}

/**
 * Reads the requested changes of a merchant. The merchant may keep an option or currency that is no longer configured.
 * An editor sends whole lists. A removed option could otherwise make the list empty, which grants all wallets. `merchant` is undefined when there is none.
 * @throws INVALID_FIELDS
 */
export function parseUpdate(
  request: UpdateMerchantRequest,
  merchant: Merchant | undefined,
  configured: Configured,
): MerchantUpdate {
  const { name, sessionLifetime, terms, contact, refundPolicy, personalDataDays, expectedUpdateTime } =
    request;
  const values = valuesOrThrow(
    combine({
      ...(name === undefined ? {} : { name: parseText(name, 'name', { max: nameLength, required: true }) }),
      ...(sessionLifetime === undefined
        ? {}
        : { sessionLifetimeSeconds: parseSessionLifetime(sessionLifetime) }),
      ...(terms === undefined ? {} : termFields(terms, merchant, configured)),
      ...(contact === undefined ? {} : contactFields(contact)),
      ...(refundPolicy === undefined
        ? {}
        : approvalLimitFields(
            refundPolicy.approvalLimits,
            union(configured.currencies, limitedCurrencies(merchant)),
          )),
      ...(personalDataDays === undefined
        ? {}
        : { personalDataDays: parsePersonalDataDays(personalDataDays) }),
    }),
  );
  if (Object.keys(values).length === 0)
    valuesOrThrow(
      err({
        field: 'name',
        issue:
          'is required, unless session_lifetime, terms, contact, refund_policy or personal_data_days is given: nothing would change',
      }),
    );
  return {
    set: values,
    details: Object.fromEntries(
      Object.entries(values).map(([field, value]) => [snakeCase(field), auditValue(value)]),
    ),
    ...(expectedUpdateTime === undefined ? {} : { expectedAt: timestampDate(expectedUpdateTime) }),
  };
}

/** Longer than the broker keeps events and webhooks are repeated, so that erased data is in no copy. */
const minPersonalDataDays = 30;
const maxPersonalDataDays = 36_500;

function parsePersonalDataDays(days: number): Result<number, Issue> {
  if (days === 0 || (days >= minPersonalDataDays && days <= maxPersonalDataDays)) return ok(days);
  return err({
    field: 'personal_data_days',
    issue: `must be ${minPersonalDataDays} to ${maxPersonalDataDays}, or 0 for the period of the deployment`,
  });
}

const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The new values in the form of the audit log: one word or line each. */
function auditValue(
  value: string | number | readonly string[] | Readonly<Record<string, string | RefundLimits>>,
): string | number {
  if (typeof value === 'string' || typeof value === 'number') return value;
  const amounts = (limits: RefundLimits) =>
    Object.entries(limits).map(([currency, amount]) => `${amount} ${currency}`);
  const parts = Array.isArray(value)
    ? (value as readonly string[])
    : Object.entries(value).flatMap(([name, amount]) =>
        typeof amount === 'string'
          ? amounts({ [name]: amount })
          : amounts(amount).map((each) => `${name.toLowerCase()} ${each}`),
      );
  return parts.length === 0 ? 'no limit' : parts.join(', ');
}

const union = <T>(some: readonly T[], others: readonly T[] = []): T[] => [...new Set([...some, ...others])];

/** The currencies in which a merchant limits refunds. Orders in a currency that new orders no longer have can still be refunded. */
function limitedCurrencies(merchant: Merchant | undefined): string[] {
  if (merchant === undefined) return [];
  const { refundApprovalLimits, refundRoleLimits } = merchant;
  return [refundApprovalLimits, ...Object.values(refundRoleLimits)].flatMap((limits) => Object.keys(limits));
}

function termFields(
  terms: TermsMessage,
  merchant: Merchant | undefined,
  { currencies, wallets }: Configured,
) {
  return {
    sandboxPaymentOptions: parseOptions(
      terms.sandboxPaymentOptions,
      'terms.sandbox_payment_options',
      union(offeredOptions(wallets, 'SANDBOX'), merchant?.sandboxPaymentOptions),
    ),
    productionPaymentOptions: parseOptions(
      terms.productionPaymentOptions,
      'terms.production_payment_options',
      union(offeredOptions(wallets, 'PRODUCTION'), merchant?.productionPaymentOptions),
    ),
    currencies: parseCurrencies(terms.currencies, union(currencies, merchant?.currencies)),
    largestAmounts: parseLargestAmounts(
      terms.largestAmounts,
      union(currencies, Object.keys(merchant?.largestAmounts ?? {})),
    ),
    requestsPerSecond: parseRequestsPerSecond(terms.requestsPerSecond),
  };
}

/** Digits as people dial them: a number of the country, an international one with +, or a short number such as 8118. */
const contactPhone = /^\+?[0-9](?: ?[0-9]){2,19}$/;
/** Distinguishes an address from other texts. Only a message can show whether the address exists. */
const contactEmail = /^[^\s@<>"',;:]+@[^\s@<>"',;:]+\.[^\s@<>"',;:.]+$/;
const emailLength = 254;

function contactFields({ phone, email }: MerchantContact) {
  return {
    contactPhone: parseContact(phone, 'contact.phone', contactPhone, 'a phone number such as 0911 22 33 44'),
    contactEmail: parseContact(email, 'contact.email', contactEmail, 'an e-mail address'),
  };
}

function parseContact(text: string, field: string, form: RegExp, what: string): Result<string, Issue> {
  const parsed = parseText(text, field, { max: emailLength, required: false });
  if (!parsed.ok || text === '' || form.test(text)) return parsed;
  return err({ field, issue: `must be ${what}, or empty` });
}

function parseOptions(
  names: readonly string[],
  field: string,
  offered: readonly PaymentOption[],
): Result<PaymentOption[], Issue> {
  const options = names.map(paymentOptionOf).filter((option) => option !== undefined);
  if (options.length < names.length || !options.every((option) => offered.includes(option))) {
    const known = offered.length === 0 ? 'left empty: no wallet is set up' : offered.join(', ');
    return err({ field, issue: `must be ${known}` });
  }
  return ok([...new Set(options)]);
}

function parseCurrencies(codes: readonly string[], accepted: readonly string[]): Result<string[], Issue> {
  for (const code of codes) {
    const currency = Currency.parse(code, 'terms.currencies', accepted);
    if (!currency.ok) return currency;
  }
  return ok([...new Set(codes)]);
}

function parseLargestAmounts(
  amounts: readonly LargestAmount[],
  accepted: readonly string[],
): Result<Record<string, string>, Issue> {
  const field = 'terms.largest_amounts';
  const parsed: Record<string, string> = {};
  for (const { currency: code, amount } of amounts) {
    const currency = Currency.parse(code, field, accepted);
    if (!currency.ok) return currency;
    const money = Money.parse(amount, field, currency.value);
    if (!money.ok) return money;
    if (code in parsed) return err({ field, issue: `must name ${code} only once` });
    parsed[code] = amount;
  }
  return ok(parsed);
}

const limitsField = 'refund_policy.approval_limits';

/** The limits for every requester, and those of each role. A change replaces both. */
function approvalLimitFields(limits: readonly ApprovalLimit[], accepted: readonly string[]) {
  const byRole = (role: MemberRole) => limits.filter((limit) => limit.role === role);
  return {
    refundApprovalLimits: parseApprovalLimits(byRole(MemberRole.UNSPECIFIED), accepted),
    refundRoleLimits: parseRoleLimits(limits, accepted),
  };
}

function parseRoleLimits(
  limits: readonly ApprovalLimit[],
  accepted: readonly string[],
): Result<Partial<Record<RefundingRole, RefundLimits>>, Issue> {
  const known: readonly MemberRole[] = [MemberRole.UNSPECIFIED, ...Object.values(refundingRoles)];
  if (limits.some(({ role }) => !known.includes(role)))
    return err({
      field: limitsField,
      issue: 'must name the role owner or developer, or no role, because no other role can refund',
    });
  const parsed: Partial<Record<RefundingRole, RefundLimits>> = {};
  for (const word of Object.keys(refundingRoles) as RefundingRole[]) {
    const limitsOfRole = limits.filter(({ role }) => role === refundingRoles[word]);
    const amounts = parseApprovalLimits(limitsOfRole, accepted);
    if (!amounts.ok) return amounts;
    if (limitsOfRole.length > 0) parsed[word] = amounts.value;
  }
  return ok(parsed);
}

function parseApprovalLimits(
  limits: readonly ApprovalLimit[],
  accepted: readonly string[],
): Result<Record<string, string>, Issue> {
  const field = limitsField;
  const parsed: Record<string, string> = {};
  for (const { currency: code, amount } of limits) {
    const currency = Currency.parse(code, field, accepted);
    if (!currency.ok) return currency;
    const money = amount === '0' ? ok(undefined) : Money.parse(amount, field, currency.value);
    if (!money.ok) return money;
    if (code in parsed) return err({ field, issue: `must name ${code} only once` });
    parsed[code] = amount;
  }
  return ok(parsed);
}

const parseRequestsPerSecond = (count: number): Result<number, Issue> =>
  count >= 0 && count <= maxRequestsPerSecond
    ? ok(count)
    : err({
        field: 'terms.requests_per_second',
        issue: `must be from 1 to ${maxRequestsPerSecond}, or 0 for the standard limit of the deployment`,
      });

/** The terms as a message of the contract. */
export function termsMessage(terms: AgreedTerms): TermsMessage {
  const { paymentOptions: options, currencies, largestAmounts, requestsPerSecond } = terms;
  return create(MerchantTermsSchema, {
    sandboxPaymentOptions: [...options.SANDBOX],
    productionPaymentOptions: [...options.PRODUCTION],
    currencies: [...currencies],
    largestAmounts: Object.entries(largestAmounts).map(([currency, amount]) => ({ currency, amount })),
    requestsPerSecond,
  });
}
