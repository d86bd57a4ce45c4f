import { paymentOptionPattern } from '../../contract/payment-option.ts';
import { durationFromMs, durationMs } from '@bufbuild/protobuf/wkt';
import { Type } from '@sinclair/typebox';
import type { Merchant } from '../../gen/gatehouse/v1/merchant_service_pb.js';
import type { FormState } from '../forms/read-form.ts';
import type { Writing } from './operator-writing.ts';

/** Core knows which options there are. */
const Option = Type.String({ pattern: paymentOptionPattern });

/** The form to change a merchant's terms. */
export const TermsForm = Type.Object({
  name: Type.String({ maxLength: 128 }),
  minutes: Type.String({ pattern: '^[1-9][0-9]{0,3}$' }),
  sandbox: Type.Array(Option),
  production: Type.Array(Option),
  currencies: Type.Optional(Type.String({ maxLength: 500 })),
  largest: Type.Optional(
    Type.String({
      maxLength: 500,
      pattern: '^\\s*[A-Za-z]{3}\\s+[0-9.]+(\\s*[,;]\\s*[A-Za-z]{3}\\s+[0-9.]+)*\\s*$',
    }),
  ),
  phone: Type.Optional(Type.String({ maxLength: 30 })),
  email: Type.Optional(Type.String({ maxLength: 254 })),
  rate: Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,5}$' })),
});

interface ChosenOptions {
  readonly sandbox: readonly string[];
  readonly production: readonly string[];
}

/** The change of a merchant in a form, without the fields that the form refuses. Core decides whether the others are valid. */
export function changeOfForm(
  { values, errors }: FormState,
  { sandbox, production }: ChosenOptions,
  shown: FormState['values'],
) {
  const given = (field: string): string => (errors[field] === undefined ? (values[field] ?? '') : '');
  const [name, minutes] = [given('name'), given('minutes')];
  return {
    ...(name === '' ? {} : { name }),
    ...(minutes === '' || minutes === shown['minutes']
      ? {}
      : { sessionLifetime: durationFromMs(Number(minutes) * 60_000) }),
    contact: { phone: given('phone'), email: given('email') },
    terms: {
      sandboxPaymentOptions: [...sandbox],
      productionPaymentOptions: [...production],
      currencies: given('currencies')
        .toUpperCase()
        .split(/[\s,;]+/)
        .filter((code) => code !== ''),
      largestAmounts: given('largest')
        .split(/[,;]/)
        .map((entry) => entry.trim().split(/\s+/))
        .flatMap(([currency = '', amount = '']) =>
          currency === '' ? [] : [{ currency: currency.toUpperCase(), amount }],
        ),
      requestsPerSecond: Number(given('rate')),
    },
  };
}

/** A merchant's terms as values of the form. */
export function formOfMerchant({ name, sessionLifetime, terms, contact }: Merchant): Record<string, string> {
  const { currencies = [], largestAmounts = [], requestsPerSecond = 0 } = terms ?? {};
  return {
    name,
    minutes: sessionLifetime === undefined ? '' : String(Math.round(durationMs(sessionLifetime) / 60_000)),
    phone: contact?.phone ?? '',
    email: contact?.email ?? '',
    currencies: currencies.join(' '),
    largest: largestAmounts.map(({ currency, amount }) => `${currency} ${amount}`).join(', '),
    rate: requestsPerSecond === 0 ? '' : String(requestsPerSecond),
  };
}

/** Core's name of each field of the form. */
const fields: Readonly<Record<string, string>> = {
  name: 'name',
  session_lifetime: 'minutes',
  'terms.sandbox_payment_options': 'sandbox',
  'terms.production_payment_options': 'production',
  'terms.currencies': 'currencies',
  'terms.largest_amounts': 'largest',
  'terms.requests_per_second': 'rate',
  'contact.phone': 'phone',
  'contact.email': 'email',
};

/** Core's issues by field of the form. The sentences are in English. */
export function termsErrors(
  refused: readonly { readonly field: string; readonly issue: string }[],
  { words }: Writing,
): Record<string, string> {
  const { malformed } = words.merchants.terms;
  const own: Readonly<Record<string, string>> = {
    minutes: malformed.minutes,
    rate: malformed.rate,
    phone: malformed.phone,
    email: malformed.email,
  };
  return Object.fromEntries(
    refused.map(({ field, issue }) => [fields[field] ?? 'name', own[fields[field] ?? ''] ?? issue]),
  );
}
