import { Type } from '@sinclair/typebox';
import type { Static } from '@sinclair/typebox';

// The schemas of sent and received messages. docs/wallets/gsma-profile.md describes them in prose.
// The schema of an answer contains only the properties that we use. A wallet may omit or add others.

/** No trailing zeros, no leading ones, at most 18 digits before the point and 4 after it. */
const SentAmount = Type.String({ pattern: '^(0|[1-9][0-9]{0,17})(\\.[0-9]{0,3}[1-9])?$' });
const Currency = Type.String({ pattern: '^[A-Z]{3}$' });
const Instant = Type.String({ pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z$' });
const Text = (maxLength: number) => Type.String({ minLength: 1, maxLength });
const Parties = Type.Array(Type.Object({ key: Text(256), value: Text(256) }), { minItems: 1, maxItems: 10 });

/** The body of `POST /transactions/type/merchantpay`. */
export const paymentBodySchema = Type.Object(
  {
    amount: SentAmount,
    currency: Currency,
    debitParty: Parties,
    creditParty: Parties,
    requestingOrganisationTransactionReference: Text(256),
    descriptionText: Type.Optional(Text(160)),
    requestDate: Instant,
    subType: Type.Optional(Type.Literal('wallet')),
  },
  { $id: 'GsmaPaymentRequest', additionalProperties: false },
);
export type PaymentBody = Static<typeof paymentBodySchema>;

/** The body of `POST /transactions/{transactionReference}/reversals`. */
export const reversalBodySchema = Type.Object(
  {
    type: Type.Literal('reversal'),
    amount: SentAmount,
    currency: Currency,
    requestingOrganisationTransactionReference: Text(256),
    descriptionText: Type.Optional(Text(160)),
    requestDate: Instant,
  },
  { $id: 'GsmaReversalRequest', additionalProperties: false },
);
export type ReversalBody = Static<typeof reversalBodySchema>;

/** The answer of the token endpoint (RFC 6749, section 5.1). Some wallets write the lifetime as text. */
export const tokenAnswerSchema = Type.Object(
  {
    access_token: Type.String({ pattern: '^[\\x21-\\x7e]{1,8192}$' }),
    token_type: Type.Optional(Type.String({ pattern: '^[Bb][Ee][Aa][Rr][Ee][Rr]$' })),
    expires_in: Type.Optional(
      Type.Union([Type.Integer({ minimum: 0 }), Type.String({ pattern: '^[0-9]{1,20}$' })]),
    ),
  },
  { $id: 'GsmaTokenAnswer' },
);

/** The state of a request: in the answer 202, and from `GET /requeststates/{serverCorrelationId}`. */
export const requestStateSchema = Type.Object(
  {
    serverCorrelationId: Type.String({ pattern: '^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$' }),
    status: Text(256),
    objectReference: Type.Optional(Type.String({ maxLength: 256 })),
    expiryTime: Type.Optional(Type.String({ maxLength: 64 })),
  },
  { $id: 'GsmaRequestState' },
);

const ReadAmount = Type.String({ pattern: '^[0-9]{1,18}(\\.[0-9]{1,12})?$' });

const Fees = Type.Array(Type.Object({ feeAmount: ReadAmount, feeCurrency: Currency }), { maxItems: 20 });

const transactionProperties = {
  transactionReference: Text(256),
  transactionStatus: Text(256),
  type: Text(256),
  requestingOrganisationTransactionReference: Type.Optional(Type.String({ maxLength: 256 })),
  originalTransactionReference: Type.Optional(Type.String({ maxLength: 256 })),
  creationDate: Type.Optional(Type.String({ maxLength: 64 })),
  fees: Type.Optional(Fees),
  metadata: Type.Optional(Type.Array(Type.Object({ key: Text(256), value: Text(256) }), { maxItems: 50 })),
};

/** A transaction: in the answer 201, from `GET /transactions/{transactionReference}`, and in a statement. */
export const transactionSchema = Type.Object(
  { ...transactionProperties, amount: ReadAmount, currency: Currency },
  { $id: 'GsmaTransaction' },
);
export type Transaction = Static<typeof transactionSchema>;

/** A reversal. Its amount and currency may be missing. */
export const reversalSchema = Type.Object(
  { ...transactionProperties, amount: Type.Optional(ReadAmount), currency: Type.Optional(Currency) },
  { $id: 'GsmaReversal' },
);
export type Reversal = Static<typeof reversalSchema>;

/** The answer of `GET /responses/{clientCorrelationId}`. */
export const linkSchema = Type.Object({ link: Text(2048) }, { $id: 'GsmaLink' });

/** The answer of `GET /heartbeat`. */
export const heartbeatSchema = Type.Object({ serviceStatus: Text(256) }, { $id: 'GsmaHeartbeat' });

/** An error, after its names have been brought to one spelling. */
export const errorSchema = Type.Object(
  {
    errorcategory: Text(64),
    errorcode: Text(64),
    errordescription: Type.Optional(Type.String()),
    errorparameters: Type.Optional(Type.Array(Type.Unknown(), { maxItems: 50 })),
  },
  { $id: 'GsmaError' },
);

/** One of an error's parameters, after its names have been brought to one spelling. */
export const errorParameterSchema = Type.Object({ key: Text(256), value: Type.String() });
