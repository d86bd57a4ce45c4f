import { Type } from '@sinclair/typebox';
import type { Static } from '@sinclair/typebox';
import { formatAmount, oneUnit } from './amount.ts';
import type { DelaysMs } from './delays.ts';
import type { JournalFile } from './journal.ts';
import { issuerAccount } from './ledger.ts';
import type { Ledger } from './ledger.ts';
import { paid } from './payer-outcomes.ts';
import type { PayerOutcome } from './payer-outcomes.ts';
import { paymentFacts, revive } from './payment.ts';
import type { NewPayment, Payment } from './payment.ts';
import { createPaymentBook } from './payment-book.ts';
import type { PaymentBook } from './payment-book.ts';
import { balanceViews, chargeViews, promptView } from './payment-views.ts';
import type { ChargeView, Decision, PromptView, Timers } from './simulated-wallet.ts';

const text = Type.String();

const opened = Type.Object({ kind: Type.Literal('opened'), payment: paymentFacts });
/** The payer typed a number on the wallet's page, and confirmed. */
const confirmed = Type.Object({
  kind: Type.Literal('confirmed'),
  id: text,
  payer: text,
  at: text,
  awaitsPerson: Type.Boolean(),
});
/** The payment ended: failed with `code`, and completed otherwise. */
const ended = Type.Object({ kind: Type.Literal('ended'), id: text, at: text, code: Type.Optional(text) });

/**
 * The state that a protocol keeps beside its payments. The latest entry counts. It has a journal of its own, because 0.1.0 refuses
 * such an entry. Versions in between wrote it to the journal of the payments.
 */
const kept = Type.Object({ kind: Type.Literal('kept'), facts: Type.Record(text, text) });

const journalEntry = Type.Union([opened, confirmed, ended, kept]);

export type KeptFacts = Readonly<Record<string, string>>;

export interface PaymentsOptions {
  readonly wallet: string;
  readonly ledger: Ledger;
  readonly journal: JournalFile;
  readonly delaysMs: DelaysMs;
  readonly after: Timers;
  readonly now: () => Date;
  readonly newUuid: () => string;
  /** The outcome that a payer's number selects. */
  readonly outcomeOf: (payer: string) => PayerOutcome | undefined;
  /** The protocol's codes for a payer who declines, and for one who does not answer. */
  readonly codes: { readonly declined: string; readonly expired: string };
  /**
   * Sends one callback. `forged`: it announces a success that did not happen. `failure`: it announces a failure that did not happen.
   */
  readonly callBack: (payment: Payment, tells: 'truth' | 'failure' | 'forged') => Promise<number | string>;
  /** The number of a payer who approves on the simulator's page without having typed one. */
  readonly defaultPayer?: string;
  /** The status that queries return, for the page. */
  readonly shownStatus: (payment: Payment) => string;
  readonly pageUrl?: (payment: Payment) => string;
}

/** The payments, refunds and payouts of a wallet whose protocol has no state of its own. */
export interface Payments extends Pick<
  PaymentBook,
  'find' | 'byId' | 'findByDetail' | 'refundsOf' | 'newestFirst'
> {
  /** Records a request. Its payer is not prompted yet. */
  readonly open: (payment: NewPayment) => Payment;
  /** The payer of a page confirmed: `payer` is the typed number. */
  readonly confirm: (payment: Payment, payer: string, awaitsPerson: boolean) => void;
  /** Ends the payment with its outcome at the right time; at once if that time has passed. */
  readonly scheduleOutcome: (payment: Payment) => void;
  /** Ends the payment: completed, or failed with `code`. Returns false, and changes nothing, if it has already ended. */
  readonly end: (payment: Payment, code?: string) => boolean;
  /** Sends the callbacks of the outcome, one after another. */
  readonly callBack: (payment: Payment) => Promise<void>;
  /** `end`, and then the callbacks, without waiting for them. */
  readonly endAndCallBack: (payment: Payment, code?: string) => boolean;
  readonly prompts: (payer?: string) => readonly PromptView[];
  readonly charges: (payer?: string) => readonly ChargeView[];
  readonly balances: () => readonly object[];
  /** Replaces the protocol's other state, such as registered URLs. */
  readonly keep: (facts: KeptFacts) => void;
  /** Undefined before the first `keep`, in this run of the simulator or an earlier one. */
  readonly kept: () => KeptFacts | undefined;
  readonly decide: (id: string, decision: Decision) => 'done' | 'not_open' | undefined;
  readonly close: () => void;
}

/** The merchant's account in the ledger. */
export const merchantAccount = 'merchant@shop';

const payerAccount = (payer: string): string => `msisdn@${payer}`;

export function createPayments(options: PaymentsOptions): Payments {
  const { wallet, ledger, delaysMs, after, now, newUuid, codes } = options;
  const journal = options.journal.of(journalEntry);
  const keptJournal = options.journal.beside('kept').of(kept);
  const book = createPaymentBook();
  const timers = new Map<Payment, () => void>();
  let keptFacts: KeptFacts | undefined;

  function outcomeOf({
    kind,
    payer,
    original = '',
  }: Pick<Payment, 'kind' | 'payer' | 'original'>): PayerOutcome {
    if (kind !== 'refund') return options.outcomeOf(payer) ?? paid;
    const isFirst = book.refundsOf(original).length === 0;
    return refundOutcome(book.find('payment', original)?.outcome, isFirst);
  }

  function confirmPayer(payment: Payment, payer: string, at: Date, awaitsPerson: boolean): void {
    payment.payer = payer;
    payment.awaitsPerson = awaitsPerson;
    payment.promptedAt = at;
    payment.outcome = outcomeOf(payment);
  }

  function confirm(payment: Payment, payer: string, awaitsPerson: boolean): void {
    const at = now();
    journal.append({ kind: 'confirmed', id: payment.id, payer, at: at.toISOString(), awaitsPerson });
    confirmPayer(payment, payer, at, awaitsPerson);
  }

  function end(payment: Payment, code?: string): boolean {
    if (payment.state.status !== 'open') return false;
    const at = now();
    journal.append({
      kind: 'ended',
      id: payment.id,
      at: at.toISOString(),
      ...(code === undefined ? {} : { code }),
    });
    timers.get(payment)?.();
    timers.delete(payment);
    conclude(ledger, payment, at, code);
    return true;
  }

  function endAndCallBack(payment: Payment, code?: string): boolean {
    const isEnded = end(payment, code);
    if (isEnded) void sendCallbacks(options, payment);
    return isEnded;
  }

  function scheduleOutcome(payment: Payment): void {
    timers.get(payment)?.();
    const scheduleAt = (dueMs: number, task: () => void): void =>
      void timers.set(payment, after(Math.max(0, dueMs - now().getTime()), task));
    const { promptedAt, outcome, expiresAt } = payment;
    const expire = (): void => void endAndCallBack(payment, codes.expired);
    if (promptedAt === undefined || payment.awaitsPerson) {
      scheduleAt(expiresAt.getTime(), expire);
      return;
    }
    const due = (delay: keyof DelaysMs): number => promptedAt.getTime() + delaysMs[delay];
    const { ending } = outcome;
    if (ending.status === 'completed') scheduleAt(due(ending.after), () => void endAndCallBack(payment));
    else if (ending.status === 'failed')
      scheduleAt(due(ending.after), () => void endAndCallBack(payment, ending.code));
    else if (ending.forgedCallback)
      scheduleAt(due('payerAnswer'), () => void sendCallbacks(options, payment, true));
  }

  function replay(entry: Static<typeof journalEntry>): void {
    if (entry.kind === 'kept') {
      keptFacts = entry.facts;
      return;
    }
    if (entry.kind === 'opened') {
      book.add(revive(entry.payment, outcomeOf(entry.payment)));
      return;
    }
    const payment = book.byId(entry.id);
    if (payment === undefined) return;
    if (entry.kind === 'ended') conclude(ledger, payment, new Date(entry.at), entry.code);
    else confirmPayer(payment, entry.payer, new Date(entry.at), entry.awaitsPerson);
  }

  for (const entry of [...journal.entries(), ...keptJournal.entries()]) replay(entry);
  for (const payment of book.all()) if (payment.state.status === 'open') scheduleOutcome(payment);

  function open({ payer, amount, expiresAt, awaitsPerson, ...facts }: NewPayment): Payment {
    const entry = {
      ...facts,
      id: newUuid(),
      payer,
      amount: formatAmount(amount),
      createdAt: now().toISOString(),
      expiresAt: expiresAt.toISOString(),
      awaitsPerson,
    };
    const payment = revive(entry, outcomeOf({ ...facts, payer }));
    journal.append({ kind: 'opened', payment: entry });
    return book.add(payment);
  }

  function decide(id: string, decision: Decision): 'done' | 'not_open' | undefined {
    const payment = book.byId(id);
    if (payment?.kind !== 'payment') return undefined;
    if (payment.state.status !== 'open') return 'not_open';
    if (payment.promptedAt === undefined && (decision === 'approve' || decision === 'lose_answer')) {
      confirm(payment, options.defaultPayer ?? '', true);
    }
    if (decision === 'lose_answer') {
      if (!end(payment)) return 'not_open';
      payment.callbacks.push({ at: now(), tells: 'success', answer: 'lost' });
      return 'done';
    }
    const code = { approve: undefined, decline: codes.declined, time_out: codes.expired }[decision];
    return endAndCallBack(payment, code) ? 'done' : 'not_open';
  }

  return {
    open,
    confirm,
    scheduleOutcome,
    end,
    callBack: (payment) => sendCallbacks(options, payment),
    endAndCallBack,
    find: book.find,
    byId: book.byId,
    findByDetail: book.findByDetail,
    refundsOf: book.refundsOf,
    newestFirst: book.newestFirst,
    prompts: (payer) => book.newestFirst(payer).map((payment) => promptView(options, payment)),
    charges: (payer) =>
      book
        .newestFirst(payer)
        .flatMap((payment) => chargeViews(wallet, payment, book.refundsOf(payment.requestId))),
    balances: () => balanceViews(wallet, ledger),
    keep(facts) {
      keptJournal.append({ kind: 'kept', facts });
      keptFacts = facts;
    },
    kept: () => keptFacts,
    decide,
    close: () => {
      for (const callOff of timers.values()) callOff();
      timers.clear();
    },
  };
}

/** The outcome of a refund depends on the refunded payment and on whether this is its first refund. */
function refundOutcome(original: PayerOutcome | undefined, isFirst: boolean): PayerOutcome {
  const course = original?.refund;
  const fails = course === 'unknown_then_not' || (course === 'failed_once' && isFirst);
  const endsAfter = 'reversal' as const;
  return fails
    ? { ...paid, ending: { status: 'failed', after: endsAfter, code: 'NOT_ENOUGH_FUNDS' } }
    : { ...paid, ending: { status: 'completed', after: endsAfter } };
}

/** Ends a payment: completed, or failed with `code`. */
function conclude(ledger: Ledger, payment: Payment, at: Date, code?: string): void {
  payment.endedAt = at;
  if (code !== undefined) {
    payment.state = { status: 'failed', code };
    return;
  }
  if (payment.kind === 'payment' && payment.outcome.chargesAnotherAmount) payment.amount += oneUnit;
  postMoney(ledger, payment);
  payment.state = { status: 'completed' };
}

/** Sends the callbacks of the outcome, one after another. */
async function sendCallbacks(
  { callBack, now }: Pick<PaymentsOptions, 'callBack' | 'now'>,
  payment: Payment,
  forged = false,
): Promise<void> {
  if (payment.callbackUrl === undefined) return;
  const { callbackTimes, callbackTells } = payment.outcome;
  const lies = payment.state.status === 'completed' && callbackTells === 'failure';
  const tells = forged ? 'forged' : lies ? 'failure' : 'truth';
  for (let sent = 0; sent < callbackTimes; sent++) {
    const at = now();
    const answer = await callBack(payment, tells);
    const told = tells === 'truth' ? (payment.state.status === 'failed' ? 'failure' : 'success') : tells;
    payment.callbacks.push({ at, tells: told, answer });
  }
}

/** Moves the money of a payment to the merchant, or that of a refund or payout to the payer. */
function postMoney(ledger: Ledger, { kind, payer, currency, amount, reference }: Payment): void {
  const [from, to] =
    kind === 'payment' ? [payerAccount(payer), merchantAccount] : [merchantAccount, payerAccount(payer)];
  // The issuer supplies money that an account lacks. A payer's number can select an outcome with too little money.
  const missing = amount - ledger.balance(from, currency);
  if (missing > 0n) ledger.post({ from: issuerAccount, to: from, amount: missing, currency, reference });
  ledger.post({ from, to, amount, currency, reference });
}
