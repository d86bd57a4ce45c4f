import type { AttemptWork } from '../../../src/core/domain/attempt-work.ts';
import { Currency } from '../../../src/core/domain/currency.ts';
import { Money } from '../../../src/core/domain/money.ts';
import type { OrderFacts, OrderInFull, PaymentAttempt, StrayMoney } from '../../../src/core/domain/order.ts';
import { registerOrder } from '../../../src/core/domain/order.ts';
import type { RefundFacts } from '../../../src/core/domain/refund-record.ts';
import type { Result } from '../../../src/core/domain/result.ts';
import type { Wallet } from '../../../src/core/domain/wallet.ts';
import { PhoneNumber } from '../../../src/core/domain/phone-number.ts';

/** The time when the orders of this file are registered. Their sessions last 30 minutes. */
export const registeredAt = new Date('2026-03-01T12:00:00.000Z');
export const expiresAt = new Date('2026-03-01T12:30:00.000Z');

export function valueOf<T>(result: Result<T, unknown>): T {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
}

export const money = (text: string, code = 'ETB'): Money =>
  valueOf(Money.parse(text, 'amount', Currency.of(code)));

export const phone = (text: string): PhoneNumber => valueOf(PhoneNumber.parse(text, 'phone'));

export function buildFacts(changes: Partial<OrderFacts> = {}): OrderFacts {
  return {
    id: 'ord_1',
    merchantId: 'mer_1',
    environment: 'SANDBOX',
    orderNumber: 'INV-1',
    amount: money('100.50'),
    paymentType: 'API',
    customerPhone: phone('0911223344'),
    reason: 'Two coffees',
    businessName: 'Shop',
    returnUrl: 'https://shop.example/return',
    webhookUrl: 'https://shop.example/hook',
    createdAt: registeredAt,
    expiresAt,
    ...changes,
  };
}

export function buildOrder(changes: Partial<OrderInFull> = {}): OrderInFull {
  return { ...registerOrder(buildFacts()).order, ...changes };
}

export function buildAttempt(changes: Partial<PaymentAttempt> = {}): PaymentAttempt {
  return {
    id: 'pat_latest',
    status: 'REQUESTED',
    origin: 'CHECKOUT',
    paymentOption: 'walleta_ussd',
    phone: '+251911223344',
    createdAt: new Date('2026-03-01T12:01:00.000Z'),
    updatedAt: new Date('2026-03-01T12:02:00.000Z'),
    declineReason: changes.status === 'DECLINED' ? 'wrong_pin' : null,
    ...changes,
  };
}

/** Money that an attempt before the latest one took. */
export function buildStrayMoney(changes: Partial<StrayMoney> = {}): StrayMoney {
  return {
    attemptId: 'pat_earlier',
    amount: '99.50',
    currency: 'ETB',
    status: 'REVERSAL_DUE',
    foundAt: new Date('2026-03-01T12:03:00.000Z'),
    ...changes,
  };
}

/** The work of an attempt that no worker has leased yet. */
export function buildWork(changes: Partial<AttemptWork> & Pick<AttemptWork, 'attempt'>): AttemptWork {
  return {
    ...{ dueAt: null, leaseId: null, leasedUntil: null, leases: 0, maybeSent: false },
    ...{ promptUntil: null, providerTransactionId: null },
    ...changes,
  };
}

export function buildRefundFacts(changes: Partial<RefundFacts> = {}): RefundFacts {
  return {
    ...{ id: 'rfd_1', merchantId: 'mer_1', environment: 'SANDBOX', refundNumber: 'R-1' },
    ...{ orderId: 'ord_1', orderNumber: 'INV-1', attemptId: 'pat_latest', paymentOption: 'walleta_ussd' },
    ...{ providerTransactionId: 'T-1', minorUnits: 10_050n, currency: Currency.of('ETB') },
    ...{ isAmountGiven: true, reason: 'Sold out', requestedBy: 'merchant', createdAt: registeredAt },
    ...changes,
  };
}

export function buildWallet(refunds: Wallet['refunds'], decimals = 2): Wallet {
  const currency = {
    currency: Currency.of('ETB'),
    leastMinorUnits: undefined,
    greatestMinorUnits: undefined,
  };
  return {
    ...{ id: 'walleta', options: ['walleta_ussd'], environments: ['SANDBOX'] },
    ...{ currencies: [{ ...currency, decimals }], reconcile: true, refunds },
  };
}
