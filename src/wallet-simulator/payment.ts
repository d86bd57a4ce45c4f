import { Type } from '@sinclair/typebox';
import type { Static } from '@sinclair/typebox';
import { amountPattern, parseAmount } from './amount.ts';
import type { PayerOutcome } from './payer-outcomes.ts';

const text = Type.String();

/** A payment in the journal, as it was requested. */
export const paymentFacts = Type.Object({
  /** The id on the page and in the admin API. */
  id: text,
  kind: Type.Union([Type.Literal('payment'), Type.Literal('refund'), Type.Literal('payout')]),
  /** The id that the client gave to its request. Unique for each kind. */
  requestId: text,
  /** The wallet's transaction. */
  reference: text,
  /** The requestId of the payment that a refund returns. */
  original: Type.Optional(text),
  /** Digits only; empty until the payer typed a number. */
  payer: text,
  amount: Type.String({ pattern: amountPattern }),
  currency: text,
  description: text,
  channel: Type.Union([Type.Literal('ussd'), Type.Literal('page')]),
  merchantReference: text,
  callbackUrl: Type.Optional(text),
  /** The data that the protocol returns unchanged. */
  details: Type.Record(Type.String(), Type.Unknown()),
  createdAt: text,
  expiresAt: text,
  awaitsPerson: Type.Boolean(),
});

export type PaymentFacts = Omit<
  Static<typeof paymentFacts>,
  'payer' | 'amount' | 'createdAt' | 'expiresAt' | 'awaitsPerson'
>;

export interface Payment extends Readonly<PaymentFacts> {
  readonly createdAt: Date;
  readonly expiresAt: Date;
  payer: string;
  /** In ten-thousandths. The requested amount until completed, then the charged amount. */
  amount: bigint;
  awaitsPerson: boolean;
  outcome: PayerOutcome;
  /** When the payer started to answer: at the request, or when the payer confirmed on the wallet's page. */
  promptedAt: Date | undefined;
  endedAt: Date | undefined;
  state:
    | { readonly status: 'open' }
    | { readonly status: 'completed' }
    | { readonly status: 'failed'; readonly code: string };
  readonly callbacks: { readonly at: Date; readonly tells: string; readonly answer: number | string }[];
}

/** A new payment, refund or payout. */
export interface NewPayment extends Omit<PaymentFacts, 'id'> {
  readonly payer: string;
  readonly amount: bigint;
  readonly expiresAt: Date;
  readonly awaitsPerson: boolean;
}

/** The payment of an entry in the journal. */
export function revive(facts: Static<typeof paymentFacts>, outcome: PayerOutcome): Payment {
  const createdAt = new Date(facts.createdAt);
  return {
    ...facts,
    createdAt,
    expiresAt: new Date(facts.expiresAt),
    amount: parseAmount(facts.amount),
    outcome,
    promptedAt: facts.channel === 'page' && facts.kind === 'payment' ? undefined : createdAt,
    endedAt: undefined,
    state: { status: 'open' },
    callbacks: [],
  };
}
