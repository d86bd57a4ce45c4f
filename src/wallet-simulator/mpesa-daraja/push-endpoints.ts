import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { parseAmount } from '../amount.ts';
import { paid } from '../payer-outcomes.ts';
import type { Payment } from '../payment.ts';
import type { MpesaBody } from './mpesa-body.ts';
import { required, requiredUrl, textOf } from './mpesa-body.ts';
import { resultTexts } from './mpesa-outcomes.ts';
import { MpesaRefusal, badField, errorBody, spikeArrest } from './mpesa-reply.ts';
import { resultCode } from './mpesa-shop.ts';
import type { MpesaShop } from './mpesa-shop.ts';

/** Payment requests that prompt the payer, and their query. */
export function addPushEndpoints(app: FastifyInstance, shop: MpesaShop): void {
  const { context, dialect, credentials, payments } = shop;
  const { now, after, delaysMs, received, id: wallet } = context;
  const refusedOnce = new Set<string>();

  /** @throws MpesaRefusal unless short code, timestamp and password belong together */
  function checkPassword(body: MpesaBody): void {
    const shortCode = required(body, 'BusinessShortCode', /^[0-9]{5,7}$/);
    const timestamp = required(body, 'Timestamp', /^[0-9]{14}$/);
    if (shortCode !== credentials.short_code) {
      throw new MpesaRefusal(500, '500.001.1001', '[MerchantValidate] - Merchant does not exist');
    }
    const accepted = dialect.passwords(`${shortCode}${credentials.passkey}${timestamp}`);
    if (!accepted.includes(textOf(body, 'Password'))) {
      throw new MpesaRefusal(500, '500.001.1001', 'Wrong credentials');
    }
  }

  function isLocked(payer: string): boolean {
    return shop
      .list()
      .some(
        (payment) => payment.payer === payer && payment.state.status === 'open' && payment.expiresAt > now(),
      );
  }

  function open(body: MpesaBody, payer: string, isFixed: boolean): Payment {
    return payments.open({
      kind: 'payment',
      requestId: shop.newId('ws_CO_'),
      reference: shop.newReceipt(),
      payer,
      amount: parseAmount(textOf(body, 'Amount')),
      currency: dialect.currency,
      description: textOf(body, 'TransactionDesc'),
      channel: 'ussd',
      merchantReference: textOf(body, 'AccountReference'),
      callbackUrl: textOf(body, 'CallBackURL'),
      details: {
        merchantRequestId: dialect.clientNamesRequests ? textOf(body, 'MerchantRequestID') : shop.newId(''),
      },
      expiresAt: new Date(now().getTime() + delaysMs.promptExpiry),
      awaitsPerson: context.interactive && !isFixed,
    });
  }

  const accepted = (payment: Payment): object => ({
    MerchantRequestID: payment.details['merchantRequestId'],
    CheckoutRequestID: payment.requestId,
    ResponseCode: '0',
    ResponseDescription: 'Success. Request accepted for processing',
    CustomerMessage: 'Success. Request accepted for processing',
  });

  function hang(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    reply.hijack();
    const cancelHang = after(delaysMs.hang, () => request.raw.socket.destroy());
    request.raw.socket.once('close', cancelHang);
    return reply;
  }

  app.post<{ Body: MpesaBody }>(dialect.pushPath, async (request, reply) => {
    const { body } = request;
    const payer = textOf(body, 'PhoneNumber');
    const note = (answer: string): void =>
      received.add({
        at: now(),
        wallet,
        kind: 'payment',
        subject: payer,
        answer,
        correlationId: textOf(body, 'AccountReference'),
      });
    try {
      checkPassword(body);
      checkPush(shop, body);
      if (isLocked(payer)) throw locked();
    } catch (error) {
      note(error instanceof MpesaRefusal ? error.errorCode : 'error');
      throw error;
    }
    const fixed = shop.outcomeOf(payer);
    const { acknowledgement } = fixed ?? paid;
    const openOne = (): Payment => open(body, payer, fixed !== undefined);
    note(acknowledgement.kind);
    switch (acknowledgement.kind) {
      case 'accepted': {
        const payment = openOne();
        payments.scheduleOutcome(payment);
        return accepted(payment);
      }
      case 'accepted_late': {
        const payment = openOne();
        payments.end(payment);
        await payments.callBack(payment);
        return accepted(payment);
      }
      case 'hangs':
        if (acknowledgement.creates) payments.scheduleOutcome(openOne());
        return hang(request, reply);
      case 'error':
        if (acknowledgement.creates) payments.scheduleOutcome(openOne());
        return reply.code(acknowledgement.answer.status).send(acknowledgement.answer.body);
      case 'rate_limited_once': {
        const key = `${payer} ${textOf(body, 'AccountReference')}`;
        if (!refusedOnce.has(key)) {
          refusedOnce.add(key);
          return reply
            .code(500)
            .send(errorBody(shop.newId(''), '500.003.02', 'Error Occurred: Spike Arrest Violation'));
        }
        const payment = openOne();
        payments.scheduleOutcome(payment);
        return accepted(payment);
      }
    }
  });

  if (dialect.queryPath === undefined) return;
  app.post<{ Body: MpesaBody }>(dialect.queryPath, async ({ body }, reply) => {
    checkPassword(body);
    const payment = payments.find('payment', textOf(body, 'CheckoutRequestID'));
    // M-Pesa does not document its answer for an unknown id.
    if (payment === undefined) throw badField('CheckoutRequestID');
    const quirk = shop.outcomeOf(payment.payer)?.quirk;
    if (quirk === 'query_rate_limited_once' && !refusedOnce.has(payment.id)) {
      refusedOnce.add(payment.id);
      return reply.code(500).send(spikeArrest);
    }
    const code = resultCode(payment);
    if (code === '4999' && quirk === 'processing_as_error') {
      throw new MpesaRefusal(500, '500.001.1001', 'The transaction is being processed');
    }
    return {
      ResponseCode: '0',
      ResponseDescription: 'The service request has been accepted successsfully',
      MerchantRequestID: payment.details['merchantRequestId'],
      CheckoutRequestID: payment.requestId,
      // Text here, and a number in the callback.
      ResultCode: code,
      ResultDesc: resultTexts[code] ?? '',
    };
  });
}

const locked = (): MpesaRefusal =>
  new MpesaRefusal(
    500,
    '500.001.1001',
    'Unable to lock subscriber, a transaction is already in process for the current subscriber',
  );

/** @throws MpesaRefusal for a field that M-Pesa does not take */
function checkPush({ dialect, credentials }: MpesaShop, body: MpesaBody): void {
  const type = required(body, 'TransactionType', /^Customer(PayBill|BuyGoods)Online$/);
  required(body, 'Amount', /^[1-9][0-9]{0,5}$/);
  if (Number(body['Amount']) > 250_000) throw badField('Amount');
  const payee = textOf(body, 'PartyB');
  const expected = type === 'CustomerBuyGoodsOnline' ? credentials.till_number : credentials.short_code;
  if (payee !== (expected ?? credentials.short_code)) throw badField('PartyB');
  required(body, 'PartyA', dialect.msisdn);
  required(body, 'PhoneNumber', dialect.msisdn);
  requiredUrl(body, 'CallBackURL');
  // The documents allow 12 characters. The sandbox takes a few more.
  required(body, 'AccountReference', /^.{1,20}$/);
  required(body, 'TransactionDesc', /^.{1,100}$/);
  if (dialect.clientNamesRequests) required(body, 'MerchantRequestID', /^.{1,50}$/);
}
