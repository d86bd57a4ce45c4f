import type { DelaysMs } from '../delays.ts';
import { refusal } from './refusal.ts';
import type { Refusal } from './refusal.ts';

/** The wallet's answer to a payment request. */
export type Acknowledgement =
  | { readonly kind: 'accepted' }
  /** Accepted, but the answer is sent only after the callback was answered. */
  | { readonly kind: 'accepted-late' }
  | { readonly kind: 'hangs'; readonly creates: boolean }
  | { readonly kind: 'refused'; readonly creates: boolean; readonly refusal: Refusal }
  /** Refused for the first request with a correlation id, and accepted afterwards. */
  | { readonly kind: 'refused-once'; readonly refusal: Refusal };

/** How an accepted payment ends. */
export type Ending =
  | { readonly status: 'completed'; readonly after: keyof DelaysMs }
  | { readonly status: 'failed'; readonly after: keyof DelaysMs; readonly refusal: Refusal }
  /** The payment stays open permanently. `shownAs` is the status that queries return. */
  | { readonly status: 'open'; readonly shownAs: string; readonly forgedCallback: boolean };

/** Everything that can vary between payments. */
export interface Outcome {
  readonly summary: string;
  readonly acknowledgement: Acknowledgement;
  readonly ending: Ending;
  readonly callbackTimes: 0 | 1 | 3;
  readonly callbackTells: 'truth' | 'failure';
  readonly chargesAnotherAmount: boolean;
  readonly reversal: 'done' | 'refused' | 'unknown-then-done' | 'unknown-then-not' | 'failed-once';
  readonly statement: 'true' | 'missing' | 'another-amount';
}

const success: Outcome = {
  summary: 'success',
  acknowledgement: { kind: 'accepted' },
  ending: { status: 'completed', after: 'payerAnswer' },
  callbackTimes: 1,
  callbackTells: 'truth',
  chargesAnotherAmount: false,
  reversal: 'done',
  statement: 'true',
};

/** The outcome of payers whose number selects none. */
export const ordinaryOutcome: Outcome = success;

const reversalDone: Outcome = { ...success, ending: { status: 'completed', after: 'reversal' } };

const reversalFailed: Outcome = {
  ...success,
  ending: {
    status: 'failed',
    after: 'reversal',
    refusal: refusal('businessRule', 'insufficientFunds', "The merchant's account has too little money"),
  },
};

/** The course of an accepted reversal. It depends on the reversed payment, and on whether this is the first try. */
export const outcomeOfReversal = ({ reversal }: Outcome, isFirst: boolean): Outcome =>
  reversal === 'unknown-then-not' || (reversal === 'failed-once' && isFirst) ? reversalFailed : reversalDone;

/** Whether a request for a reversal is executed, but answered with an error. */
export const losesReversalAnswer = ({ reversal }: Outcome): boolean =>
  reversal === 'unknown-then-done' || reversal === 'unknown-then-not';

/** The payer did not answer in time. The contract has no code for this, so the profile uses `providerCode`. */
export const promptExpired: Refusal = refusal(
  'businessRule',
  'genericError',
  'The payer did not answer in time',
  { providerCode: 'expired' },
);

export const declinedByPayer: Refusal = refusal(
  'authorisation',
  'requestDeclined',
  'The payer declined the request',
);

const failedOutcome = (
  summary: string,
  because: Refusal,
  after: keyof DelaysMs = 'payerAnswer',
): Outcome => ({
  ...success,
  summary,
  ending: { status: 'failed', after, refusal: because },
});

const openOutcome = (summary: string, shownAs: string, forgedCallback: boolean): Outcome => ({
  ...success,
  summary,
  ending: { status: 'open', shownAs, forgedCallback },
});

const acknowledgedWith = (summary: string, acknowledgement: Acknowledgement): Outcome => ({
  ...success,
  summary,
  acknowledgement,
});

/** The outcomes by the last two digits of the payer's number, which are the index. */
const outcomes: readonly Outcome[] = [
  success,
  failedOutcome(
    'insufficient funds',
    refusal('businessRule', 'insufficientFunds', 'The payer has too little money'),
  ),
  failedOutcome(
    'wrong PIN',
    refusal('authorisation', 'requestDeclined', 'The payer gave a wrong PIN', { providerCode: 'wrongPin' }),
  ),
  failedOutcome('cancelled by the payer', declinedByPayer),
  failedOutcome('no answer: expired', promptExpired, 'promptExpiry'),
  failedOutcome(
    'unknown subscriber',
    refusal('identification', 'identifierError', 'There is no such subscriber', { debitParty: 'msisdn' }),
  ),
  acknowledgedWith('daily limit exceeded', {
    kind: 'refused',
    creates: false,
    refusal: refusal('businessRule', 'dailyValueLimitExceeded', "The payer's daily limit is exceeded"),
  }),
  acknowledgedWith('account barred', {
    kind: 'refused',
    creates: false,
    refusal: refusal('businessRule', 'incorrectState', "The payer's account is barred", {
      debitParty: 'msisdn',
    }),
  }),
  acknowledgedWith('rate limited once, then fine', {
    kind: 'refused-once',
    refusal: refusal('businessRule', 'rateLimitError', 'Too many requests; send the same request again'),
  }),
  openOutcome('an undefined status', 'underReview', false),
  { ...success, summary: 'success, no callback', callbackTimes: 0 },
  { ...success, summary: 'success, callback three times', callbackTimes: 3 },
  acknowledgedWith('callback before the acknowledgement', { kind: 'accepted-late' }),
  {
    ...success,
    summary: 'success, too late',
    ending: { status: 'completed', after: 'lateSuccess' },
  },
  acknowledgedWith('acknowledgement hangs, payment completes', { kind: 'hangs', creates: true }),
  acknowledgedWith('acknowledgement hangs, nothing created', { kind: 'hangs', creates: false }),
  acknowledgedWith('503 at acknowledgement', {
    kind: 'refused',
    creates: false,
    refusal: refusal('serviceUnavailable', 'genericError', 'The service is not available'),
  }),
  acknowledgedWith('500 at acknowledgement, payment completes', {
    kind: 'refused',
    creates: true,
    refusal: refusal('internal', 'genericError', 'The request could not be completed'),
  }),
  openOutcome('forged success callback, stays pending', 'pending', true),
  { ...success, summary: 'completed with another amount', chargesAnotherAmount: true },
  openOutcome('pending for ever', 'pending', false),
  { ...success, summary: 'failure callback, yet completed', callbackTells: 'failure' },
  { ...success, summary: 'paid; reversal refused', reversal: 'refused' },
  { ...success, summary: "paid; reversal's outcome unknown, then done", reversal: 'unknown-then-done' },
  { ...success, summary: 'paid; missing from the statement', statement: 'missing' },
  { ...success, summary: 'paid; statement shows another amount', statement: 'another-amount' },
  { ...success, summary: 'paid; first reversal accepted and failed', reversal: 'failed-once' },
  {
    ...success,
    summary: 'completed with another amount; reversal refused',
    chargesAnotherAmount: true,
    reversal: 'refused',
  },
  { ...success, summary: "paid; reversal's outcome unknown, then not done", reversal: 'unknown-then-not' },
];

/** The numbers with an outcome: `2517000000NN` at walletb, and `2519000000NN` at every other wallet. */
const numbersOf = (wallet: string): RegExp =>
  wallet === 'walletb' ? /^2517000000([0-9]{2})$/ : /^2519000000([0-9]{2})$/;

/** The outcome that a payer's number selects; undefined when it selects none. Digits only, no plus. */
export function outcomeOfNumber(wallet: string, msisdn: string): Outcome | undefined {
  const digits = numbersOf(wallet).exec(msisdn)?.[1];
  return digits === undefined ? undefined : outcomes[Number(digits)];
}
