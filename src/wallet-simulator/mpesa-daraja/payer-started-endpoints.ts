import type { FastifyInstance } from 'fastify';
import { formatAmount, parseAmount } from '../amount.ts';
import type { Payment } from '../payment.ts';
import type { MpesaBody } from './mpesa-body.ts';
import { required, requiredUrl, textOf } from './mpesa-body.ts';
import { badField } from './mpesa-reply.ts';
import { confirmationMessage } from './mpesa-shop.ts';
import type { MpesaShop } from './mpesa-shop.ts';
import { readSpacedTime } from './mpesa-time.ts';
import { parseJson } from '../../platform/parse-json.ts';

/** Payments that payers start in the menu of their phone, the statement, and the registration of URLs for both. */
export function addPayerStartedEndpoints(app: FastifyInstance, shop: MpesaShop): void {
  const { context, dialect, credentials, payments } = shop;
  const { now, after, delaysMs } = context;

  for (const path of dialect.registerPath) {
    app.post<{ Body: MpesaBody }>(path, ({ body }) => {
      if (textOf(body, 'ShortCode') !== credentials.short_code) throw badField('ShortCode');
      const type = required(body, 'ResponseType', /^(Completed|Cancelled|Canceled)$/i);
      const confirmation = requiredUrl(body, 'ConfirmationURL');
      const validation = requiredUrl(body, 'ValidationURL');
      // The sandbox lets a short code register again; production does not.
      shop.registerUrls({ confirmation, validation, completes: /^completed$/i.test(type) });
      return dialect.registered(body);
    });
  }

  /** Asks the client first, then moves the money, then reports it. */
  async function payFromMenu(body: MpesaBody): Promise<void> {
    const payer = textOf(body, 'Msisdn');
    const command = textOf(body, 'CommandID');
    const payment = payments.open({
      kind: 'payment',
      requestId: shop.newId('menu_'),
      reference: shop.newReceipt(),
      payer,
      amount: parseAmount(textOf(body, 'Amount')),
      currency: dialect.currency,
      description: 'paid from the menu of the phone',
      channel: 'ussd',
      merchantReference: textOf(body, 'BillRefNumber'),
      details: { command },
      expiresAt: new Date(now().getTime() + delaysMs.promptExpiry),
      awaitsPerson: false,
    });
    const urls = shop.urls();
    if (urls === undefined) {
      payments.end(payment);
      return;
    }
    const { status, text } = await shop.post(
      urls.validation,
      confirmationMessage(payment, credentials.short_code),
    );
    const code = status === 200 ? resultCodeIn(text) : undefined;
    const isTaken = code === undefined ? urls.completes : code === '0';
    if (!payments.end(payment, isTaken ? undefined : (code ?? 'C2B00016'))) return;
    if (!isTaken) return;
    const at = now();
    const answer = await shop.post(urls.confirmation, confirmationMessage(payment, credentials.short_code));
    payment.callbacks.push({ at, tells: 'success', answer: answer.status });
  }

  for (const path of dialect.simulatePaths) {
    app.post<{ Body: MpesaBody }>(path, ({ body }) => {
      if (textOf(body, 'ShortCode') !== credentials.short_code) throw badField('ShortCode');
      required(body, 'CommandID', /^Customer(PayBill|BuyGoods)Online$/);
      required(body, 'Amount', /^[1-9][0-9]{0,5}$/);
      required(body, 'Msisdn', dialect.msisdn);
      after(0, () => void payFromMenu(body));
      return {
        OriginatorCoversationID: shop.newId('sim-'),
        ResponseCode: '0',
        ResponseDescription: 'Accept the service request successfully.',
      };
    });
  }

  if (!dialect.hasPull) return;
  app.post<{ Body: MpesaBody }>('/pulltransactions/v1/register', ({ body }) => {
    if (textOf(body, 'ShortCode') !== credentials.short_code) throw badField('ShortCode');
    required(body, 'RequestType', /^Pull$/);
    requiredUrl(body, 'CallBackURL');
    return {
      ResponseRefID: shop.newId(''),
      ResponseStatus: '1000',
      ResponseDescription: 'ShortCode registered successfully',
    };
  });
  app.post<{ Body: MpesaBody }>('/pulltransactions/v1/query', ({ body }) => {
    if (textOf(body, 'ShortCode') !== credentials.short_code) throw badField('ShortCode');
    const from = readSpacedTime(textOf(body, 'StartDate'));
    const to = readSpacedTime(textOf(body, 'EndDate'));
    if (from === undefined) throw badField('StartDate');
    if (to === undefined) throw badField('EndDate');
    const offset = Number(required(body, 'OffSetValue', /^[0-9]{1,9}$/));
    const oldest = now().getTime() - 48 * 60 * 60 * 1000;
    const page = shop
      .list()
      .filter(({ state, endedAt }) => {
        const at = endedAt?.getTime() ?? 0;
        return (
          state.status === 'completed' && at >= oldest && at >= from.getTime() && at <= to.getTime() + 999
        );
      })
      .filter(({ payer }) => shop.outcomeOf(payer)?.quirk !== 'missing_in_statement')
      .toReversed()
      .slice(offset, offset + pageSize);
    return {
      ResponseRefID: shop.newId(''),
      ResponseCode: page.length === 0 ? '1001' : '1000',
      ResponseMessage: page.length === 0 ? 'No transactions found' : 'Success',
      Response: [page.map((payment) => pulled(shop, payment))],
    };
  });
}

const pageSize = 100;

function pulled(shop: MpesaShop, payment: Payment): object {
  const isOther = shop.outcomeOf(payment.payer)?.quirk === 'another_amount_in_statement';
  return {
    transactionId: payment.reference,
    trxDate: (payment.endedAt ?? payment.createdAt).toISOString().replace(/\.\d+Z$/, 'Z'),
    msisdn: Number(payment.payer),
    sender: 'UAT2',
    transactiontype: 'c2b-pay-bill-debit',
    billreference: payment.merchantReference,
    amount: (Number(formatAmount(payment.amount)) + (isOther ? 1 : 0)).toFixed(2),
    organizationname: 'Demo shop',
  };
}

function resultCodeIn(text: string): string | undefined {
  const answer = parseJson(text);
  return typeof answer === 'object' && answer !== null ? textOf({ ...answer }, 'ResultCode') : undefined;
}
