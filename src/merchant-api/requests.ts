import { Type } from '@sinclair/typebox';
import type { TObject, TProperties } from '@sinclair/typebox';
import { directOptionPattern } from './payment-option.ts';

// Lengths, patterns and formats are documentation, for readers of the contract and for code generators. Core decides, and its messages are
// better. The schemas agree with core's rules. Only core checks the currencies that this gateway accepts, and the decimals of each. Only
// core refuses the characters named below, and hosts that lenient parsers would turn into others.

// Code generators copy `pattern` into the source of a client, and validators compile it, also below `not`. The regular
// expressions of Python, Go and PHP know no \p{…} or \u…, and in Java a [ begins a class within a class. A single such pattern makes
// a validator refuse the whole document. So the schemas allow characters that only core refuses: lone surrogates, invisible
// characters, and those that change the direction of writing.

/** Matches control characters. */
const controlCharacter = '[\\x00-\\x1f\\x7f-\\x9f]';
const blank = '^\\s*$';

const orderNumber = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: '^[!-~]+$',
  description: 'Your own unique reference of the order: printable ASCII characters without spaces.',
  examples: ['INV-2025-0042'],
});

const amount = Type.String({
  minLength: 1,
  // ISO 4217 has no currency with more than four decimals.
  maxLength: 17,
  pattern: '^(0|[1-9][0-9]{0,11})(\\.[0-9]{1,4})?$',
  not: { pattern: '^[0.]*$' },
  description:
    'Decimal text greater than zero: at most 12 digits before the point and no more decimals than the currency has. ' +
    'A JSON number is refused.',
  examples: ['100.50'],
});

const reason = (description: string, example: string) =>
  Type.String({
    minLength: 1,
    maxLength: 255,
    not: { pattern: `${controlCharacter}|${blank}` },
    description: `${description} It is not blank and has no control characters.`,
    examples: [example],
  });

const currency = Type.String({
  minLength: 3,
  maxLength: 3,
  pattern: '^[A-Z]{3}$',
  description: 'Upper-case ISO 4217 code of a currency that this gateway accepts.',
  examples: ['ETB'],
});

const phone = Type.String({
  minLength: 8,
  maxLength: 16,
  // Ethiopian mobile numbers, and all numbers of other countries. After +251, only mobile numbers match.
  pattern: '^((\\+?251|0)?[79][0-9]{8}|\\+([13-9][0-9]{6,14}|2[0-46-9][0-9]{5,13}|25[02-9][0-9]{4,12}))$',
  description:
    "The customer's phone number: an Ethiopian mobile number (+2519…, 2519…, 09… or 9…, or with 7 instead of the first 9), " +
    'or a number of another country in E.164 form with its plus. No spaces or dashes.',
  examples: ['0911223344'],
});

const hostLabel = '[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?';
const host = `(\\[[0-9A-Fa-f:.]+\\]|${hostLabel}(\\.${hostLabel})*\\.?)`;
const uriCharacter = "([A-Za-z0-9._~:/?#\\[\\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})";
/** An absolute http or https URL of RFC 3986 without user name and password. */
const httpUrl = `^[Hh][Tt][Tt][Pp][Ss]?://${host}(:[0-9]{1,5})?([/?#]${uriCharacter}*)?$`;

const url = (description: string, example: string) =>
  Type.String({
    minLength: 1,
    maxLength: 2048,
    format: 'uri',
    pattern: httpUrl,
    description: `${description} An absolute http or https URL without user name and password; https only in production.`,
    examples: [example],
  });

/** Body of POST /api/v1/register: docs/merchant-api.md, "Register a payment order". */
export const registerBodySchema = Type.Object(
  {
    order_number: orderNumber,
    return_url: url(
      'The page to which the customer returns after the payment.',
      'https://shop.example/thanks',
    ),
    webhook_url: Type.Optional(
      url(
        'The URL that receives a signed POST when the order or a refund of it has ended. Leave it out if you need none.',
        'https://shop.example/webhooks',
      ),
    ),
    amount,
    currency,
    reason: reason('The purpose of the payment, shown to the customer.', 'Invoice 42'),
    customer_phone: phone,
    business_name: Type.Optional(
      Type.String({
        maxLength: 128,
        not: { pattern: controlCharacter },
        description: 'The business to show at checkout.',
        examples: ['Abebe Books'],
      }),
    ),
  },
  { $id: 'RegisterRequest', title: 'Order to register' },
);

/** Body of POST /api/v1/direct: docs/merchant-api.md, "Start a direct payment". */
export const directBodySchema = Type.Object(
  { amount, currency, order_number: orderNumber, phone },
  { $id: 'DirectPaymentRequest', title: 'Direct payment to start' },
);

/** Query of POST /api/v1/direct. */
export const directQuerySchema = Type.Object({
  payment_option: Type.String({
    pattern: directOptionPattern,
    description:
      "The wallet whose USSD prompt the customer gets: the wallet's id with _ussd. Ask the gateway's operator for the ids.",
    examples: ['walleta_ussd'],
  }),
});

/** Body of POST /api/v1/verify. */
export const verifyBodySchema = Type.Object(
  { order_number: orderNumber },
  { $id: 'VerifyRequest', title: 'Order to look up' },
);

/** Body of POST /api/v1/explain. */
export const explainBodySchema = Type.Object(
  { order_number: orderNumber },
  { $id: 'ExplainRequest', title: 'Order to explain' },
);

const refundNumber = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: '^[!-~]+$',
  description: 'Your own unique reference of the refund: printable ASCII characters without spaces.',
  examples: ['RET-2025-0007'],
});

/** Body of POST /api/v1/refund. */
export const refundBodySchema = Type.Object(
  {
    order_number: orderNumber,
    refund_number: refundNumber,
    amount: Type.Optional({
      ...amount,
      description: `${amount.description} At most what is left of the order. If you leave the amount out, all that is left is refunded.`,
      examples: ['40.00'],
    }),
    reason: reason('Why you refund.', 'Shoes came back'),
  },
  { $id: 'RefundRequest', title: 'Refund to create' },
);

/** Body of POST /api/v1/refund/verify. */
export const verifyRefundBodySchema = Type.Object(
  { refund_number: refundNumber },
  { $id: 'VerifyRefundRequest', title: 'Refund to look up' },
);

/** The names of a schema's properties, in the order in which they are written. Problems are reported in this order. */
export function fieldNames<P extends TProperties>(schema: TObject<P>): readonly Extract<keyof P, string>[] {
  const isField = (name: string): name is Extract<keyof P, string> => Object.hasOwn(schema.properties, name);
  return Object.keys(schema.properties).filter(isField);
}
