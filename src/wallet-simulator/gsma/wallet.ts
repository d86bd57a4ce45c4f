import { createAuthorisationCodes } from './authorisation-codes.ts';
import type { AuthorisationCode, AuthorisationCodes } from './authorisation-codes.ts';
import { createCodeRequests } from './code-requests.ts';
import type { CodeRequests } from './code-requests.ts';
import type { CallbackSender } from './callbacks.ts';
import type { DelaysMs } from '../delays.ts';
import type { Journal } from './journal-entries.ts';
import type { Ledger } from '../ledger.ts';
import { planAdjustment, planReversal } from './give-back.ts';
import type { PlannedReturn } from './give-back.ts';
import { declinedByPayer } from './outcomes.ts';
import { planPayment } from './plan-payment.ts';
import { RefusedError, refusedError } from './refusal.ts';
import type { Refusal } from './refusal.ts';
import { requireParties } from './request-checks.ts';
import { conclude, createRequestCourse } from './request-course.ts';
import type { Timers } from '../simulated-wallet.ts';
import { openState, restore } from './restore.ts';
import { descriptiveFields } from './schemas.ts';
import type { AuthorisationCodeBody, Description, PaymentBody, ReversalBody } from './schemas.ts';
import { referencePrefix, seedTransactions } from './seed-transactions.ts';
import { createTransactionBook } from './transaction-book.ts';
import type { TransactionBook } from './transaction-book.ts';
import type { PaymentRequest, Transaction } from './transaction.ts';

export interface WalletOptions {
  readonly wallet: string;
  readonly ledger: Ledger;
  readonly delaysMs: DelaysMs;
  /** Whether payers without a fixed outcome are prompted on the page. */
  readonly interactive: boolean;
  readonly journal: Journal;
  readonly after: Timers;
  readonly now: () => Date;
  readonly newUuid: () => string;
  readonly randomBytes: (count: number) => Buffer;
  readonly callBack: CallbackSender;
}

/** The origin of a request, besides its body. */
export interface RequestOrigin {
  readonly correlationId: string | undefined;
  readonly callbackUrl: string | undefined;
}

export type Answer =
  | { readonly kind: 'accepted'; readonly request: PaymentRequest }
  | { readonly kind: 'completed'; readonly transaction: Transaction }
  | { readonly kind: 'hangs' };

/** A simulated wallet, independent of its API. Its decisions take no time, but its payers do. */
export interface Wallet {
  readonly name: string;
  readonly ledger: Ledger;
  readonly book: TransactionBook;
  readonly codes: AuthorisationCodes;
  readonly codeRequests: CodeRequests;
  /**
   * Requests a payment from its payer. A one-time code pays at once.
   * @throws RefusedError, including when the payer's number selects a refusal
   */
  readonly pay: (body: PaymentBody, origin: RequestOrigin) => Promise<Answer>;
  /** Returns a completed payment in full or in part. @throws RefusedError */
  readonly reverse: (reference: string, body: ReversalBody, origin: RequestOrigin) => Answer;
  /** Gives money back by a transaction of its own. @throws RefusedError */
  readonly adjust: (body: PaymentBody, origin: RequestOrigin) => Answer;
  /** Issues an authorisation code: at once, or by a callback if the client wants one. @throws RefusedError */
  readonly issueCode: (
    account: string,
    terms: AuthorisationCodeBody,
    origin: RequestOrigin,
  ) =>
    | { readonly kind: 'issued'; readonly code: AuthorisationCode }
    | { readonly kind: 'accepted'; readonly state: object };
  /** Ends an open payment as approved; returns false when it is not open. */
  readonly approve: (request: PaymentRequest) => boolean;
  /** Ends an open payment as declined; returns false when it is not open. */
  readonly decline: (request: PaymentRequest) => boolean;
  /** Ends an open payment as failed with `because`; returns false when it is not open. */
  readonly refuse: (request: PaymentRequest, because: Refusal) => boolean;
  /** Completes an open payment without callbacks; returns false when it is not open. */
  readonly completeSilently: (request: PaymentRequest) => boolean;
  /** Cancels all pending events. */
  readonly close: () => void;
}

interface Plan {
  readonly transaction: Transaction;
  readonly origin: RequestOrigin;
  readonly awaitsPerson: boolean;
}

export function createWallet(options: WalletOptions): Wallet {
  const { wallet, ledger, delaysMs, interactive, now, newUuid } = options;
  const book = createTransactionBook();
  const codes = createAuthorisationCodes(options);
  const codeRequests = createCodeRequests({ ...options, codes });
  const course = createRequestCourse({ ...options, book });
  const rateLimited = new Set<string>();
  for (const transaction of seedTransactions(wallet)) {
    conclude(transaction, ledger, transaction.createdAt);
    book.addTransaction(transaction);
  }
  const unfinished = restore({ ...options, book, promptExpiryMs: delaysMs.promptExpiry });
  for (const request of unfinished) course.scheduleOutcome(request);

  function open({ transaction, origin, awaitsPerson }: Plan): PaymentRequest {
    const request: PaymentRequest = {
      serverCorrelationId: newUuid(),
      clientCorrelationId: origin.correlationId,
      callbackUrl: origin.callbackUrl,
      expiresAt: new Date(transaction.createdAt.getTime() + delaysMs.promptExpiry),
      transaction,
      callbacks: [],
      awaitsPerson,
    };
    course.open(request);
    return request;
  }

  function refuseRepetition({ correlationId }: RequestOrigin): void {
    if (correlationId === undefined) return;
    if (
      book.requestOfClient(correlationId) !== undefined ||
      codeRequests.linkOf(correlationId) !== undefined
    ) {
      throw refusedError(
        'businessRule',
        'duplicateRequest',
        'There is a request with this X-CorrelationID already',
        {
          'X-CorrelationID': correlationId,
        },
      );
    }
  }

  function newTransaction(
    parts: Pick<Transaction, 'type' | 'debitAccount' | 'creditAccount' | 'debitParty' | 'creditParty'> &
      Pick<Transaction, 'amount' | 'currency' | 'outcome' | 'originalReference'> & { body: Description },
  ): Transaction {
    const { body, ...facts } = parts;
    const createdAt = now();
    return {
      ...facts,
      reference: `${referencePrefix(wallet)}${options.randomBytes(6).toString('hex').toUpperCase()}`,
      description: descriptionOf(body),
      createdAt,
      modifiedAt: createdAt,
      state: openState(parts.outcome),
    };
  }

  /** Opens the request, and schedules its outcome. */
  function accept(plan: Plan): Answer {
    const request = open(plan);
    course.scheduleOutcome(request);
    return { kind: 'accepted', request };
  }

  async function acknowledge(plan: Plan): Promise<Answer> {
    const { acknowledgement } = plan.transaction.outcome;
    switch (acknowledgement.kind) {
      case 'accepted':
        return accept(plan);
      case 'accepted-late': {
        const request = open(plan);
        course.end(request);
        await course.callBack(request);
        return { kind: 'accepted', request };
      }
      case 'hangs':
        if (acknowledgement.creates) accept(plan);
        return { kind: 'hangs' };
      case 'refused':
        if (acknowledgement.creates) accept(plan);
        throw new RefusedError(acknowledgement.refusal);
      case 'refused-once': {
        const key = plan.origin.correlationId?.toLowerCase() ?? plan.transaction.debitAccount;
        if (!rateLimited.has(key)) {
          rateLimited.add(key);
          throw new RefusedError(acknowledgement.refusal);
        }
        return accept(plan);
      }
    }
  }

  function giveBack(
    { losesAnswer, ...planned }: PlannedReturn,
    body: Description,
    origin: RequestOrigin,
  ): Answer {
    const transaction = newTransaction({ ...planned, body });
    const answer = accept({ transaction, origin, awaitsPerson: false });
    if (losesAnswer) throw refusedError('internal', 'genericError', 'The request could not be completed');
    return answer;
  }

  return {
    name: wallet,
    ledger,
    book,
    codes,
    codeRequests,
    pay: async (body, origin) => {
      refuseRepetition(origin);
      const { decidedBy, ...planned } = planPayment(wallet, codes, body);
      const transaction = newTransaction({ ...planned, body });
      if (decidedBy !== 'code')
        return acknowledge({ transaction, origin, awaitsPerson: interactive && decidedBy === 'payer' });
      course.end(open({ transaction, origin, awaitsPerson: false }));
      return { kind: 'completed', transaction };
    },
    reverse: (reference, body, origin) => {
      refuseRepetition(origin);
      return giveBack(planReversal(book, reference, body), body, origin);
    },
    adjust: (body, origin) => {
      refuseRepetition(origin);
      requireParties(body);
      return giveBack(planAdjustment(wallet, book, body), body, origin);
    },
    issueCode: (account, terms, origin) => {
      refuseRepetition(origin);
      const code = codes.issue(account, terms);
      codeRequests.name(origin.correlationId, code);
      if (origin.callbackUrl === undefined) return { kind: 'issued', code };
      const state = codeRequests.accept(code, origin.callbackUrl, origin.correlationId);
      return { kind: 'accepted', state };
    },
    approve: (request) => course.endAndCallBack(request),
    decline: (request) => course.endAndCallBack(request, declinedByPayer),
    refuse: (request, because) => course.endAndCallBack(request, because),
    completeSilently: (request) => {
      const isDone = course.end(request);
      if (isDone) request.callbacks.push({ at: now(), tells: 'success', answer: 'lost' });
      return isDone;
    },
    close: () => {
      course.close();
      codeRequests.close();
    },
  };
}

function descriptionOf(body: Description): Description {
  return Object.fromEntries(
    descriptiveFields.flatMap((field) => (field in body ? [[field, body[field]]] : [])),
  );
}
