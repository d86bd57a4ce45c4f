import type { DelaysMs } from './delays.ts';

/** An HTTP answer that replaces the acknowledgement. */
export interface ErrorAnswer {
  readonly status: number;
  readonly body: object;
}

/** The answer to a payment request. */
export type Acknowledgement =
  | { readonly kind: 'accepted' }
  /** Accepted, but the answer is sent only after the callback was answered. */
  | { readonly kind: 'accepted_late' }
  | { readonly kind: 'hangs'; readonly creates: boolean }
  | { readonly kind: 'error'; readonly creates: boolean; readonly answer: ErrorAnswer }
  /** Refused for the first request with an id, and accepted afterwards. */
  | { readonly kind: 'rate_limited_once' };

/** How an accepted payment ends. */
export type Ending =
  | { readonly status: 'completed'; readonly after: keyof DelaysMs }
  /** `code`: the protocol's word for the failure. */
  | { readonly status: 'failed'; readonly after: keyof DelaysMs; readonly code: string }
  /** The payment stays open permanently. `shownAs` replaces the status that queries return. */
  | { readonly status: 'open'; readonly forgedCallback: boolean; readonly shownAs?: string };

/** Everything that can vary between payments. */
export interface PayerOutcome {
  readonly summary: string;
  readonly acknowledgement: Acknowledgement;
  readonly ending: Ending;
  readonly callbackTimes: 0 | 1 | 3;
  readonly callbackTells: 'truth' | 'failure';
  readonly chargesAnotherAmount: boolean;
  readonly refund: 'done' | 'refused' | 'unknown_then_done' | 'unknown_then_not' | 'failed_once';
}

export const paid: PayerOutcome = {
  summary: 'success',
  acknowledgement: { kind: 'accepted' },
  ending: { status: 'completed', after: 'payerAnswer' },
  callbackTimes: 1,
  callbackTells: 'truth',
  chargesAnotherAmount: false,
  refund: 'done',
};

/** Whether a request for a refund is executed, but answered with an error. */
export const losesRefundAnswer = ({ refund }: PayerOutcome): boolean =>
  refund === 'unknown_then_done' || refund === 'unknown_then_not';

export const refusedWith = (
  summary: string,
  code: string,
  after: keyof DelaysMs = 'payerAnswer',
): PayerOutcome => ({ ...paid, summary, ending: { status: 'failed', after, code } });

export const staysOpen = (summary: string, forgedCallback: boolean, shownAs?: string): PayerOutcome => ({
  ...paid,
  summary,
  ending: { status: 'open', forgedCallback, ...(shownAs === undefined ? {} : { shownAs }) },
});

export const answeredWith = (
  summary: string,
  answer: ErrorAnswer,
  creates: boolean = false,
): PayerOutcome => ({
  ...paid,
  summary,
  acknowledgement: { kind: 'error', creates, answer },
});

/** The words of a protocol for the outcomes of the table. */
export interface OutcomeWords {
  readonly insufficientFunds: string;
  readonly wrongPin: string;
  readonly declined: string;
  readonly expired: string;
  readonly payerNotFound: string;
  readonly limitExceeded: string;
  readonly accountBarred: string;
  readonly undefinedStatus: string;
  readonly unavailable: ErrorAnswer;
  readonly internalError: ErrorAnswer;
}

/** The outcomes by the last two digits of the payer's number, which are the index. The same for all protocols. */
export const outcomeTable = (words: OutcomeWords): readonly PayerOutcome[] => [
  paid,
  refusedWith('insufficient funds', words.insufficientFunds),
  refusedWith('wrong PIN', words.wrongPin),
  refusedWith('cancelled by the payer', words.declined),
  refusedWith('no answer: expired', words.expired, 'promptExpiry'),
  refusedWith('unknown subscriber', words.payerNotFound),
  refusedWith('daily limit exceeded', words.limitExceeded),
  refusedWith('account barred', words.accountBarred),
  { ...paid, summary: 'rate limited once, then fine', acknowledgement: { kind: 'rate_limited_once' } },
  staysOpen('an undefined status', false, words.undefinedStatus),
  { ...paid, summary: 'success, no callback', callbackTimes: 0 },
  { ...paid, summary: 'success, callback three times', callbackTimes: 3 },
  { ...paid, summary: 'callback before the acknowledgement', acknowledgement: { kind: 'accepted_late' } },
  {
    ...paid,
    summary: 'success, too late',
    ending: { status: 'completed', after: 'lateSuccess' },
  },
  {
    ...paid,
    summary: 'acknowledgement hangs, payment completes',
    acknowledgement: { kind: 'hangs', creates: true },
  },
  {
    ...paid,
    summary: 'acknowledgement hangs, nothing created',
    acknowledgement: { kind: 'hangs', creates: false },
  },
  answeredWith('503 at acknowledgement', words.unavailable),
  answeredWith('500 at acknowledgement, payment completes', words.internalError, true),
  staysOpen('forged success callback, stays pending', true),
  { ...paid, summary: 'completed with another amount', chargesAnotherAmount: true },
  staysOpen('pending for ever', false),
  { ...paid, summary: 'failure callback, yet completed', callbackTells: 'failure' },
  { ...paid, summary: 'paid; refund refused', refund: 'refused' },
  { ...paid, summary: "paid; refund's outcome unknown, then done", refund: 'unknown_then_done' },
  { ...paid, summary: 'paid' },
  { ...paid, summary: 'paid' },
  { ...paid, summary: 'paid; first refund accepted and failed', refund: 'failed_once' },
  {
    ...paid,
    summary: 'completed with another amount; refund refused',
    chargesAnotherAmount: true,
    refund: 'refused',
  },
  { ...paid, summary: "paid; refund's outcome unknown, then not done", refund: 'unknown_then_not' },
];
