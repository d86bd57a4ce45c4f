import { isMerchantAccount } from './accounts.ts';
import { formatAmount, oneUnit } from '../amount.ts';
import type { CallbackSender } from './callbacks.ts';
import type { DelaysMs } from '../delays.ts';
import type { Timers } from '../simulated-wallet.ts';
import type { Journal } from './journal-entries.ts';
import { issuerAccount } from '../ledger.ts';
import type { Ledger } from '../ledger.ts';
import { declinedByPayer, promptExpired } from './outcomes.ts';
import { errorObject } from './refusal.ts';
import type { Refusal } from './refusal.ts';
import type { TransactionBook } from './transaction-book.ts';
import { transactionObject } from './transaction.ts';
import type { PaymentRequest, Transaction } from './transaction.ts';

export interface RequestCourseOptions {
  readonly ledger: Ledger;
  readonly book: TransactionBook;
  readonly journal: Journal;
  readonly delaysMs: DelaysMs;
  readonly after: Timers;
  readonly now: () => Date;
  readonly callBack: CallbackSender;
}

/** The course of accepted requests, from the prompt to the callbacks. */
export interface RequestCourse {
  /** Stores an accepted request. */
  readonly open: (request: PaymentRequest) => void;
  /** Ends the request with its outcome at the right time; at once if that time has passed. */
  readonly scheduleOutcome: (request: PaymentRequest) => void;
  /** Ends the request: completed, or failed with `because`. Returns false without effect when it has already ended. */
  readonly end: (request: PaymentRequest, because?: Refusal) => boolean;
  /** Sends the callbacks of the request's outcome, one after another. */
  readonly callBack: (request: PaymentRequest) => Promise<void>;
  /** `end`, and then the callbacks, without waiting for them. */
  readonly endAndCallBack: (request: PaymentRequest, because?: Refusal) => boolean;
  /** Cancels all pending events. */
  readonly close: () => void;
}

export function createRequestCourse(options: RequestCourseOptions): RequestCourse {
  const { ledger, book, journal, delaysMs, after, now, callBack } = options;
  const timers = new Map<PaymentRequest, () => void>();

  function end(request: PaymentRequest, because?: Refusal): boolean {
    const { transaction, serverCorrelationId } = request;
    if (transaction.state.status !== 'open') return false;
    const at = now();
    journal.append({
      kind: 'ended',
      serverCorrelationId,
      at: at.toISOString(),
      ...(because === undefined ? {} : { refusal: { ...because, parameters: [...because.parameters] } }),
    });
    timers.get(request)?.();
    timers.delete(request);
    conclude(transaction, ledger, at, because);
    return true;
  }

  async function sendCallbacks(request: PaymentRequest, forged = false): Promise<void> {
    const { transaction, callbackUrl, clientCorrelationId, callbacks } = request;
    const { outcome, state } = transaction;
    if (callbackUrl === undefined) return;
    const failed = state.status === 'failed' ? state.refusal : undefined;
    const told = failed ?? (outcome.callbackTells === 'failure' ? declinedByPayer : undefined);
    const success = forged ? { ...transaction, state: { status: 'completed' } as const } : transaction;
    const content = told === undefined ? transactionObject(success) : errorObject(told, now());
    for (let sent = 0; sent < outcome.callbackTimes; sent++) {
      const at = now();
      const answer = await callBack(callbackUrl, clientCorrelationId, content);
      callbacks.push({ at, tells: told === undefined ? 'success' : 'failure', answer });
    }
  }

  function endAndCallBack(request: PaymentRequest, because?: Refusal): boolean {
    const ended = end(request, because);
    if (ended) void sendCallbacks(request);
    return ended;
  }

  function scheduleOutcome(request: PaymentRequest): void {
    const { createdAt, outcome } = request.transaction;
    const { ending } = outcome;
    const schedule = (delay: keyof DelaysMs, task: () => void): void => {
      const dueMs = createdAt.getTime() + delaysMs[delay];
      timers.set(request, after(Math.max(0, dueMs - now().getTime()), task));
    };
    if (request.awaitsPerson) schedule('promptExpiry', () => endAndCallBack(request, promptExpired));
    else if (ending.status === 'completed') schedule(ending.after, () => endAndCallBack(request));
    else if (ending.status === 'failed')
      schedule(ending.after, () => endAndCallBack(request, ending.refusal));
    else if (ending.forgedCallback) schedule('payerAnswer', () => void sendCallbacks(request, true));
  }

  return {
    open: (request) => {
      journal.append(openedEntry(request));
      book.addRequest(request);
    },
    scheduleOutcome,
    end,
    callBack: (request) => sendCallbacks(request),
    endAndCallBack,
    close: () => {
      for (const callOff of timers.values()) callOff();
      timers.clear();
    },
  };
}

/** Applies the recorded end of a transaction: moves the money if it completed. */
export function conclude(transaction: Transaction, ledger: Ledger, at: Date, because?: Refusal): void {
  transaction.modifiedAt = at;
  if (because !== undefined) {
    transaction.state = { status: 'failed', refusal: because };
    return;
  }
  if (transaction.outcome.chargesAnotherAmount) transaction.amount += oneUnit;
  moveMoney(transaction, ledger);
  transaction.state = { status: 'completed' };
}

/** Customers always have enough money, unless their number says otherwise. The issuer supplies it. */
function moveMoney(transaction: Transaction, ledger: Ledger): void {
  const { debitAccount, creditAccount, amount, currency, reference } = transaction;
  const missing = amount - ledger.balance(debitAccount, currency);
  if (!isMerchantAccount(debitAccount) && missing > 0n) {
    ledger.post({ from: issuerAccount, to: debitAccount, amount: missing, currency, reference });
  }
  ledger.post({ from: debitAccount, to: creditAccount, amount, currency, reference });
}

function openedEntry(request: PaymentRequest): Parameters<Journal['append']>[0] {
  const { serverCorrelationId, clientCorrelationId, callbackUrl, awaitsPerson, transaction } = request;
  const { reference, type, debitAccount, creditAccount, currency, description, originalReference } =
    transaction;
  return {
    kind: 'opened',
    serverCorrelationId,
    ...(clientCorrelationId === undefined ? {} : { clientCorrelationId }),
    ...(callbackUrl === undefined ? {} : { callbackUrl }),
    awaitsPerson,
    transaction: {
      reference,
      type,
      debitAccount,
      creditAccount,
      currency,
      description,
      debitParty: [...transaction.debitParty],
      creditParty: [...transaction.creditParty],
      amount: formatAmount(transaction.amount),
      ...(originalReference === undefined ? {} : { originalReference }),
      createdAt: transaction.createdAt.toISOString(),
    },
  };
}
