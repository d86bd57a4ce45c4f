import { beforeEach, describe, expect, test } from '@jest/globals';
import { storedId } from '../../support/ids.ts';
import { directPayment, registration } from '../../support/order-requests.ts';
import { failureOf, refusalOf } from '../../support/rpc-failure.ts';
import { sharedClient, sharedStack } from '../../support/shared-stack.ts';
import { walletsOfCore } from '../../support/simulated-wallets.ts';
import { Environment, PaymentAttemptStatus } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { ReconciliationService } from '../../../src/gen/gatehouse/v1/reconciliation_service_pb.js';
import { WalletRefunds, WalletService } from '../../../src/gen/gatehouse/v1/wallet_service_pb.js';
import { browserSecret, outcomes, sharedPaymentDesk } from './payment-desk.ts';

const stack = sharedStack({
  facades: 0,
  settings: {
    GATEHOUSE_CURRENCIES: 'ETB,USD,KES',
    GATEHOUSE_WALLETS: walletsOfCore({
      walleta: { currencies: [{ code: 'ETB', least_amount: '1', greatest_amount: '1000' }] },
      walletb: { currencies: [{ code: 'ETB', decimals: 0 }, { code: 'USD' }], environments: ['sandbox'] },
    }),
  },
});
const desk = sharedPaymentDesk(stack);
const wallets = sharedClient(stack, WalletService, 'checkout');
const reconciliations = sharedClient(stack, ReconciliationService, 'operator');

let merchantId: string;
beforeEach(async () => {
  await desk.clear();
  ({ id: merchantId } = await stack.createMerchant());
});

test('the configured wallets are listed, without their settings', async () => {
  const listed = await wallets.listWallets({});

  expect(listed.wallets).toMatchObject([
    {
      wallet: 'walleta',
      englishName: 'Wallet A',
      amharicName: 'ዋሌት ኤ',
      paymentOptions: ['walleta_wallet', 'walleta_ussd'],
      currencies: [{ currency: 'ETB', leastAmount: '1.00', greatestAmount: '1000.00', decimals: 2 }],
      connector: 'gsma',
      refunds: WalletRefunds.ANY_PART,
      reconciledEnvironments: [Environment.SANDBOX, Environment.PRODUCTION],
    },
    {
      wallet: 'walletb',
      currencies: [
        { currency: 'ETB', decimals: 0 },
        { currency: 'USD', leastAmount: '' },
      ],
      reconciledEnvironments: [Environment.SANDBOX],
    },
  ]);
  expect(JSON.stringify(listed.wallets)).not.toContain('client_id');
});

test('a statement is not reconciled in an environment that the wallet is not configured for', async () => {
  const start = (environment: Environment) =>
    reconciliations.startReconciliation({ wallet: 'walletb', environment, date: '2026-01-05' });

  expect(await failureOf(start(Environment.PRODUCTION))).toMatchObject({
    reason: 'INVALID_FIELDS',
    issues: { wallet: 'must be one of walleta, whose statements are reconciled in this environment' },
  });
  expect((await start(Environment.SANDBOX)).reconciliation).toMatchObject({ wallet: 'walletb' });
});

describe('an order that no wallet accepts', () => {
  test('is refused at register, with what the wallets accept', async () => {
    const order = registration({ merchantId, amount: '5', currency: 'KES' });

    expect(await failureOf(desk.orders.registerOrder(order))).toMatchObject({
      ...{ code: 'InvalidArgument', reason: 'INVALID_FIELDS' },
      issues: { currency: 'must be one of ETB, USD: no wallet that you may use takes KES' },
    });
  });

  test.each([
    ['10.50', 'walletb_ussd', { amount: 'must be ETB in whole units: no wallet takes another amount' }],
    ['10', 'walletc_ussd', { payment_option: 'must be one of walleta_ussd, walletb_ussd' }],
    ['10', '', { payment_option: 'is required; one of walleta_ussd, walletb_ussd' }],
  ])('is refused as a direct payment: %s by "%s"', async (amount, paymentOption, issues) => {
    const failure = await failureOf(
      desk.orders.startDirectPayment(directPayment({ merchantId, amount, paymentOption })),
    );

    expect(failure).toMatchObject({ reason: 'INVALID_FIELDS', issues });
  });

  test('is refused in production by a wallet that is configured for the sandbox only', async () => {
    const payment = directPayment({ merchantId, amount: '10', paymentOption: 'walletb_ussd' });
    const live = { ...payment, environment: Environment.PRODUCTION };

    expect(await failureOf(desk.orders.startDirectPayment(live))).toMatchObject({
      reason: 'INVALID_FIELDS',
      issues: { payment_option: 'must be one of walleta_ussd' },
    });
    await desk.orders.startDirectPayment({ ...live, paymentOption: 'walleta_ussd' });
  });

  test('is offered only the wallets that accept it at checkout', async () => {
    const optionsOf = async (orderNumber: string, amount: string): Promise<readonly string[]> => {
      const { token } = await desk.registerHosted({ merchantId, orderNumber, amount });
      return (await desk.checkout.getCheckout({ token })).checkout?.paymentOptions ?? [];
    };

    expect(await optionsOf('A-1', '10.50')).toEqual(['walleta_wallet', 'walleta_ussd']);
    expect(await optionsOf('A-2', '2000')).toEqual(['walletb_ussd']);
    const order = await desk.registerHosted({ merchantId, orderNumber: 'A-3', amount: '10.50' });
    expect(await refusalOf(desk.payHosted(order, 'walletb_ussd'))).toBe('INVALID_FIELDS');
  });
});

describe('the page or instructions that the payer must open', () => {
  const open = { case: 'redirectUrl', value: 'https://wallet.example/pay?id=1' } as const;

  test('reach the browser that pays, until the payment is over, and no other', async () => {
    const order = await desk.registerHosted({ merchantId });
    const payment = await desk.payHosted(order, 'walleta_wallet');
    const nextActionIn = async (secret: string) =>
      (await desk.checkout.getCheckout({ token: order.token, browserSecret: secret })).checkout?.nextAction
        ?.action;
    const lease = async () => {
      const work = {
        environment: 1,
        paymentOptions: ['walleta_wallet'],
        maxAttempts: 1,
        lease: { seconds: 60n },
      };
      return (await desk.payments.leasePaymentAttempts(work)).attempts[0]!;
    };
    const leased = await lease();

    expect(leased.returnUrl).toContain(`/c/${order.token}`);
    await desk.record(leased, {
      case: 'pending',
      value: { providerReference: 'P-1', nextAction: { action: open } },
    });
    expect(await nextActionIn(browserSecret())).toEqual(open);
    expect(await nextActionIn(browserSecret('c'))).toBeUndefined();

    await desk.makeDue(payment);
    await desk.record(await lease(), outcomes.declined('declined_by_payer'));
    expect(await nextActionIn(browserSecret())).toBeUndefined();
  });

  test.each([
    { case: 'redirectUrl', value: 'javascript:alert(1)' } as const,
    { case: 'redirectUrl', value: 'not a url' } as const,
    { case: 'instructions', value: 'x'.repeat(5_000) } as const,
  ])('are omitted when no page could use them: %j', async (action) => {
    const payment = await desk.startDirect({ merchantId });

    const { paymentAttempt } = await desk.settle(payment, {
      case: 'pending',
      value: { providerReference: 'P-1', nextAction: { action } },
    });

    expect(paymentAttempt?.status).toBe(PaymentAttemptStatus.SENT);
    const [row] = await desk.query('select next_action from core.payment_attempts where id = $1', [
      storedId('pat', payment.attemptId),
    ]);
    expect(row).toEqual({ next_action: null });
  });
});

describe('the notes of callbacks', () => {
  test('are given to the next worker that leases the attempt', async () => {
    const payment = await desk.startDirect({ merchantId });
    await desk.settle(payment, outcomes.pending());
    const { attemptId: paymentAttemptId } = payment;
    const second = '{"code": "a\\\\b, c"}';
    for (const callbackNote of ['first', second, second, ''])
      await desk.payments.hastenPaymentAttempt({ merchantId, paymentAttemptId, callbackNote });

    expect((await desk.take(payment)).callbackNotes).toEqual(['first', second]);
  });

  test('of a reversal make it due, and are given to the next worker that leases it', async () => {
    const payment = await desk.startDirect({ merchantId });
    await desk.settle(payment, outcomes.completed('T-1', '7'));
    const lease = async () => (await desk.leaseReversals(1))[0];
    const { reversalId = '', leaseId = '', strayPayment } = (await lease()) ?? {};
    await desk.reversals.recordReversalOutcome({
      ...{ merchantId, strayPaymentId: strayPayment?.strayPaymentId ?? '', leaseId },
      outcome: { case: 'pending', value: { providerReference: 'R-1', detail: '' } },
    });
    expect(await lease()).toBeUndefined();

    await desk.reversals.hastenReversal({ merchantId, reversalId, callbackNote: 'result 0' });

    expect(await lease()).toMatchObject({
      reversalId,
      callbackNotes: ['result 0'],
      providerReference: 'R-1',
    });
    const other = reversalId.replace(/.$/, (last) => (last === '0' ? '1' : '0'));
    expect(await refusalOf(desk.reversals.hastenReversal({ merchantId, reversalId: other }))).toBe(
      'STRAY_PAYMENT_NOT_FOUND',
    );
  });
});
