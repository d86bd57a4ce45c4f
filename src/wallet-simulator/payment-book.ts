import type { Payment } from './payment.ts';

/** The payments, refunds and payouts of a simulated wallet. */
export interface PaymentBook {
  readonly add: (payment: Payment) => Payment;
  readonly all: () => readonly Payment[];
  readonly find: (kind: Payment['kind'], requestId: string) => Payment | undefined;
  readonly byId: (id: string) => Payment | undefined;
  /** The payment with this value in its details. */
  readonly findByDetail: (detail: string, value: string) => Payment | undefined;
  /** The refunds of a payment, oldest first. */
  readonly refundsOf: (requestId: string) => readonly Payment[];
  /** The payments of this payer, or of all payers. */
  readonly newestFirst: (payer?: string) => readonly Payment[];
}

export function createPaymentBook(): PaymentBook {
  const payments = new Map<string, Payment>();
  const byRequest = new Map<string, Payment>();
  const refunds = new Map<string, Payment[]>();
  const keyOf = (kind: string, requestId: string): string => `${kind} ${requestId.toLowerCase()}`;
  const ofKind = (wanted: Payment['kind']): Payment[] =>
    [...payments.values()].filter(({ kind }) => kind === wanted);
  return {
    add(payment) {
      payments.set(payment.id, payment);
      byRequest.set(keyOf(payment.kind, payment.requestId), payment);
      const original = payment.kind === 'refund' ? payment.original?.toLowerCase() : undefined;
      if (original !== undefined) refunds.set(original, [...(refunds.get(original) ?? []), payment]);
      return payment;
    },
    all: () => [...payments.values()],
    find: (kind, requestId) => byRequest.get(keyOf(kind, requestId)),
    byId: (id) => payments.get(id),
    findByDetail: (detail, value) => ofKind('payment').find(({ details }) => details[detail] === value),
    refundsOf: (requestId) => refunds.get(requestId.toLowerCase()) ?? [],
    newestFirst: (payer) =>
      ofKind('payment')
        .filter((payment) => payer === undefined || payment.payer === payer.replace(/^\+/, ''))
        .reverse(),
  };
}
