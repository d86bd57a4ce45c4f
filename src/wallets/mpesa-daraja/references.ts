import { Type } from '@sinclair/typebox';
import type { Static, TSchema } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { parseJson } from '../../platform/parse-json.ts';

const Text = Type.String({ minLength: 1, maxLength: 64 });

/** A query or a request whose answer comes by callback. */
const askedSchema = Type.Object({
  /** Both conversation ids of its acknowledgement, in any order. */
  ids: Type.Array(Text, { maxItems: 2 }),
  /** In milliseconds since 1970. */
  at: Type.Integer(),
  /** The receipt, or the conversation, that the query names. */
  of: Text,
});
export type Asked = Static<typeof askedSchema>;

/** Older queries are dropped, so that the reference stays within its length. */
const keptQueries = 2;

const keptReceipts = 3;
const keptOthers = 12;

/** Adds the receipts that callbacks gave to those of a reference. */
export function withReceipts(reference: PaymentReference, given: readonly string[]): PaymentReference {
  const { receipts: stored = [], others = [] } = reference;
  const possible = [...stored, ...given].filter((receipt) => !others.includes(receipt));
  const receipts = [...new Set(possible)].slice(0, keptReceipts);
  return receipts.length === 0 ? reference : { ...reference, receipts };
}

/** Records that a receipt belongs to another payment, so that it is not asked about again. */
export const withOther = (reference: PaymentReference, receipt: string): PaymentReference => ({
  ...reference,
  others: [...new Set([...(reference.others ?? []), receipt])].slice(-keptOthers),
});

export const withQuery = (asked: readonly Asked[] | undefined, query: Asked): Asked[] => [
  ...(asked ?? []).slice(1 - keptQueries),
  query,
];

const paymentSchema = Type.Object({
  /** The id of the payment request at M-Pesa; absent when only the receipt is known. */
  checkout: Type.Optional(Text),
  /** When the payment was requested, in milliseconds since 1970. */
  at: Type.Optional(Type.Integer()),
  /** Whether a query of Gatehouse has found that the customer paid. */
  paid: Type.Optional(Type.Literal(true)),
  /** The receipt, from the statement or from a confirmation. */
  receipt: Type.Optional(Text),
  /** The first receipts that callbacks gave. Later callbacks take the place of the notes that gave them. */
  receipts: Type.Optional(Type.Array(Text, { maxItems: keptReceipts })),
  /** Receipts that belong to other payments with the account reference of the attempt. */
  others: Type.Optional(Type.Array(Text, { maxItems: keptOthers })),
  asked: Type.Optional(Type.Array(askedSchema, { maxItems: keptQueries })),
});
export type PaymentReference = Static<typeof paymentSchema>;

const reversalSchema = Type.Object({
  /** The reversal itself; absent when its acknowledgement was lost. */
  sent: Type.Optional(Type.Object({ ids: Type.Array(Text, { maxItems: 2 }), at: Type.Integer() })),
  /** The transaction of the reversal that a callback gave, after a lost acknowledgement. */
  claimed: Type.Optional(Text),
  asked: Type.Optional(Type.Array(askedSchema, { maxItems: keptQueries })),
});
export type ReversalReference = Static<typeof reversalSchema>;

/** The stored form of a reference: compact JSON. */
export const writeReference = (reference: PaymentReference | ReversalReference): string =>
  JSON.stringify(reference);

export const readPaymentReference = (text: string | undefined): PaymentReference | undefined =>
  readJson(paymentSchema, text);
export const readReversalReference = (text: string | undefined): ReversalReference | undefined =>
  readJson(reversalSchema, text);

function readJson<Schema extends TSchema>(schema: Schema, text = ''): Static<Schema> | undefined {
  const value = parseJson(text);
  return Value.Check(schema, value) ? value : undefined;
}
