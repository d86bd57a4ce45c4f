import { Type } from '@sinclair/typebox';
import type { Static, TSchema } from '@sinclair/typebox';
import { amountPattern } from '../amount.ts';

const text = (minLength: number, maxLength: number) => Type.String({ minLength, maxLength });
const amount = Type.String({ maxLength: 23, pattern: amountPattern });
const currency = Type.String({ pattern: '^[A-Z]{3}$' });
const dateTime = Type.String({ format: 'date-time' });
const keyAndValue = Type.Object({ key: text(1, 256), value: text(1, 256) });
const parties = Type.Array(keyAndValue, { minItems: 1, maxItems: 10 });

/** The fields of a payment or reversal that the wallet stores and returns unchanged. */
const descriptive = {
  requestingOrganisationTransactionReference: Type.Optional(text(0, 256)),
  originalTransactionReference: Type.Optional(text(0, 256)),
  subType: Type.Optional(text(0, 256)),
  descriptionText: Type.Optional(text(0, 160)),
  geoCode: Type.Optional(
    Type.String({ pattern: '^-?[0-9]{1,2}([.][0-9]{1,6})?,-?[0-9]{1,3}([.][0-9]{1,6})?$' }),
  ),
  oneTimeCode: Type.Optional(text(0, 256)),
  servicingIdentity: Type.Optional(text(0, 256)),
  requestDate: Type.Optional(dateTime),
  requestingOrganisation: Type.Optional(
    Type.Object({
      requestingOrganisationIdentifierType: Type.Union([
        Type.Literal('lei'),
        Type.Literal('swiftbic'),
        Type.Literal('organisationid'),
      ]),
      requestingOrganisationIdentifier: text(1, 256),
    }),
  ),
  customData: Type.Optional(Type.Array(keyAndValue, { maxItems: 20 })),
  metadata: Type.Optional(Type.Array(keyAndValue, { maxItems: 20 })),
};

export const descriptionSchema = Type.Object(descriptive);

/** The descriptive fields of a request. */
export type Description = Static<typeof descriptionSchema>;

export const descriptiveFields = Object.keys(descriptive) as readonly (keyof Description)[];

export const paymentBody = Type.Object({
  amount,
  currency,
  debitParty: Type.Optional(parties),
  creditParty: Type.Optional(parties),
  ...descriptive,
});

/** A transaction whose type is in the body instead of the path. */
export const transactionBody = Type.Object({
  ...paymentBody.properties,
  type: Type.Union(
    (
      [
        'billpay',
        'deposit',
        'disbursement',
        'transfer',
        'merchantpay',
        'inttransfer',
        'adjustment',
        'reversal',
        'withdrawal',
      ] as const
    ).map((type) => Type.Literal(type)),
  ),
});

export const reversalBody = Type.Object({
  type: Type.Union([Type.Literal('reversal'), Type.Literal('adjustment')]),
  amount: Type.Optional(amount),
  currency: Type.Optional(currency),
  debitParty: Type.Optional(parties),
  creditParty: Type.Optional(parties),
  ...descriptive,
});

export const authorisationCodeBody = Type.Object({
  amount: Type.Optional(amount),
  currency: Type.Optional(currency),
  amountType: Type.Optional(Type.Union([Type.Literal('exact'), Type.Literal('maximum')])),
  codeLifetime: Type.Optional(Type.Integer({ minimum: 1, maximum: 2_147_483_647 })),
  holdFundsIndicator: Type.Optional(Type.Boolean()),
  redemptionAccountIdentifiers: Type.Optional(Type.Array(keyAndValue, { maxItems: 50 })),
  redemptionChannels: Type.Optional(Type.Array(Type.Object({ channelType: text(1, 256) }), { maxItems: 50 })),
  redemptionTransactionTypes: Type.Optional(
    Type.Array(
      Type.Object({ transactionType: text(1, 256), transactionSubtype: Type.Optional(text(0, 256)) }),
      { maxItems: 50 },
    ),
  ),
  requestingOrganisation: descriptive.requestingOrganisation,
  requestDate: descriptive.requestDate,
  customData: descriptive.customData,
  metadata: descriptive.metadata,
});

export const patchBody = Type.Array(
  Type.Object({
    op: Type.Union([Type.Literal('replace'), Type.Literal('add')]),
    path: text(0, 256),
    value: text(0, 256),
  }),
  { minItems: 1, maxItems: 10 },
);

const uuid = '^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$';

/** An RFC 3339 date-time as in the contract's schema, or an RFC 9110 date as in its prose. */
const eitherDate =
  '^([0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9:.]+([Zz]|[+-][0-9]{2}:[0-9]{2})|[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT)$';

/** The headers of every request. Credentials and the content hash are checked elsewhere. */
const requestHeaders = Type.Object({
  'x-correlationid': Type.Optional(Type.String({ pattern: uuid })),
  'x-date': Type.Optional(Type.String({ pattern: eitherDate })),
  'x-callback-url': Type.Optional(Type.String({ maxLength: 2048, format: 'uri', pattern: '^https?://' })),
  'x-channel': Type.Optional(text(0, 256)),
});

const wholeNumber = Type.Optional(Type.String({ pattern: '^[0-9]{1,9}$' }));

/** The filter of an account's transactions. */
export const listQuery = Type.Object({
  limit: wholeNumber,
  offset: wholeNumber,
  fromDateTime: Type.Optional(dateTime),
  toDateTime: Type.Optional(dateTime),
  transactionStatus: Type.Optional(text(0, 256)),
  transactionType: Type.Optional(text(0, 256)),
  displayType: Type.Optional(text(0, 256)),
});

export const codeListQuery = Type.Object({
  limit: wholeNumber,
  offset: wholeNumber,
  fromDateTime: Type.Optional(dateTime),
  toDateTime: Type.Optional(dateTime),
  codeState: Type.Optional(text(0, 256)),
});

export const uuidParams = Type.Object({ id: Type.String({ pattern: uuid }) });

export type PaymentBody = Static<typeof paymentBody>;
export type TransactionBody = Static<typeof transactionBody>;
export type ReversalBody = Static<typeof reversalBody>;
export type AuthorisationCodeBody = Static<typeof authorisationCodeBody>;
export type PatchBody = Static<typeof patchBody>;
export type ListQuery = Static<typeof listQuery>;
export type CodeListQuery = Static<typeof codeListQuery>;
export type UuidParams = Static<typeof uuidParams>;

/** The schemas of a route. All routes have the same headers. */
export const requestSchema = (
  parts: Readonly<Partial<Record<'body' | 'params' | 'querystring', TSchema>>> = {},
) => ({
  headers: requestHeaders,
  ...parts,
});
