import type { PaymentRequest, Transaction } from './transaction.ts';

/** All transactions and requests, by each of their ids. */
export interface TransactionBook {
  readonly addTransaction: (transaction: Transaction) => void;
  readonly addRequest: (request: PaymentRequest) => void;
  readonly transaction: (reference: string) => Transaction | undefined;
  readonly request: (serverCorrelationId: string) => PaymentRequest | undefined;
  readonly requestOfClient: (clientCorrelationId: string) => PaymentRequest | undefined;
  /** Newest first. */
  readonly requests: () => readonly PaymentRequest[];
  /** The reversals of a payment, in any state. */
  readonly reversalsOf: (reference: string) => readonly Transaction[];
  /** The transactions of an account, newest first, as in the contract's statements. */
  readonly ofAccount: (account: string) => readonly Transaction[];
}

/** UUIDs are compared without regard to case (RFC 9562, section 4). */
const sameCase = (uuid: string): string => uuid.toLowerCase();

export function createTransactionBook(): TransactionBook {
  const transactions = new Map<string, Transaction>();
  const requests = new Map<string, PaymentRequest>();
  const requestsOfClients = new Map<string, PaymentRequest>();
  const reversals = new Map<string, Transaction[]>();
  return {
    addTransaction: (transaction) => void transactions.set(transaction.reference, transaction),
    addRequest: (request) => {
      const { transaction } = request;
      const { reference, originalReference } = transaction;
      transactions.set(reference, transaction);
      if (originalReference !== undefined) {
        reversals.set(originalReference, [...(reversals.get(originalReference) ?? []), transaction]);
      }
      requests.set(sameCase(request.serverCorrelationId), request);
      if (request.clientCorrelationId !== undefined) {
        requestsOfClients.set(sameCase(request.clientCorrelationId), request);
      }
    },
    transaction: (reference) => transactions.get(reference),
    request: (id) => requests.get(sameCase(id)),
    requestOfClient: (id) => requestsOfClients.get(sameCase(id)),
    requests: () => [...requests.values()].reverse(),
    reversalsOf: (reference) => reversals.get(reference) ?? [],
    ofAccount: (account) =>
      [...transactions.values()]
        .filter(({ debitAccount, creditAccount }) => debitAccount === account || creditAccount === account)
        .reverse(),
  };
}
