import type { FastifyInstance } from 'fastify';
import { createPayments } from '../payments.ts';
import type { Payment, Payments } from '../payments.ts';
import { sendCallback } from '../send-callback.ts';
import type { SimulatedProtocol, SimulatedWallet, WalletContext } from '../simulated-wallet.ts';
import { addCheckoutPage } from './checkout-page.ts';
import { credentialsSchema, readCredentials } from './credentials.ts';
import type { TelebirrCredentials } from './credentials.ts';
import { addGateway } from './gateway.ts';
import { birr, noticeStatus, orderStatus } from './orders.ts';
import { outcomeOfNumber } from './outcomes.ts';
import { signFields, signType } from './signing.ts';
import { faults } from './telebirr-state.ts';
import type { Fault, Telebirr } from './telebirr-state.ts';

/** telebirr's Fabric gateway, and the page on which the payer types a number. */
export const telebirr: SimulatedProtocol = {
  credentials: credentialsSchema,
  mount: async (scope, context) => mount(scope, context, readCredentials(context.credentials)),
};

async function mount(
  scope: FastifyInstance,
  context: WalletContext,
  credentials: TelebirrCredentials,
): Promise<SimulatedWallet> {
  const armed: Fault[] = [];
  const takeFault = (fault: Fault): boolean => {
    const index = armed.indexOf(fault);
    if (index >= 0) armed.splice(index, 1);
    return index >= 0;
  };
  const payments: Payments = createPayments({
    ...context,
    wallet: context.id,
    outcomeOf: outcomeOfNumber,
    codes: { declined: 'PAY_FAILED', expired: 'ORDER_CLOSED' },
    defaultPayer: '251911000000',
    shownStatus: (payment) => orderStatus(payment, payments.refundsOf(payment.requestId)),
    pageUrl: ({ details }) => `${context.basePath}/pay/${String(details['prepay_id'])}`,
    callBack: (payment, tells) =>
      sendCallback(context, {
        url: payment.callbackUrl ?? '',
        method: 'POST',
        ...notification(payment, tells),
      }),
  });

  function notification(payment: Payment, tells: 'truth' | 'failure' | 'forged') {
    const status = { truth: noticeStatus(payment), failure: 'Failure', forged: 'Completed' }[tells];
    const at = payment.endedAt ?? context.now();
    const { callback_info: info } = payment.details;
    const fields = {
      notify_url: payment.callbackUrl,
      appid: credentials.merchantAppId,
      notify_time: String(context.now().getTime()),
      merch_code: credentials.merchantCode,
      merch_order_id: payment.requestId,
      payment_order_id: String(payment.details['payment_order_id']),
      total_amount: birr(payment.amount),
      ...(status === 'Completed' ? { trans_id: payment.reference } : {}),
      trans_currency: payment.currency,
      trade_status: status,
      trans_end_time: String(at.getTime()),
      ...(typeof info === 'string' ? { callback_info: info } : {}),
    };
    const signature = signFields(fields, credentials.telebirrPrivateKey);
    const signed = {
      ...fields,
      sign: tells === 'forged' ? Buffer.alloc(256, 7).toString('base64') : signature,
      sign_type: signType,
    };
    const form = 'application/x-www-form-urlencoded';
    if (takeFault('notification_as_form')) {
      return { contentType: form, body: new URLSearchParams(signed as Record<string, string>).toString() };
    }
    if (takeFault('notification_as_field_name')) {
      return { contentType: form, body: `${encodeURIComponent(JSON.stringify(signed))}=` };
    }
    return { contentType: 'application/json', body: JSON.stringify(signed) };
  }

  const telebirr: Telebirr = { context, credentials, payments, tokens: new Map(), takeFault };
  addGateway(scope, telebirr);
  await scope.register(async (child) => addCheckoutPage(child, { context, payments, credentials }));
  const { prompts, charges, balances, decide, close } = payments;
  return {
    id: context.id,
    prompts,
    charges,
    balances,
    decide,
    close,
    expireTokens: () => telebirr.tokens.clear(),
    arm: (fault) => {
      const known = faults.find((each) => each === fault);
      if (known !== undefined) armed.push(known);
      return known !== undefined;
    },
  };
}
