import type { FastifyInstance } from 'fastify';
import { formatAmount, parseAmount } from '../amount.ts';
import { losesRefundAnswer } from '../payer-outcomes.ts';
import { merchantAccount } from '../payments.ts';
import type { Payment } from '../payment.ts';
import { createInitiatorRequests } from './initiator-requests.ts';
import type { InitiatorRequests } from './initiator-requests.ts';
import type { MpesaBody } from './mpesa-body.ts';
import { required, textOf } from './mpesa-body.ts';
import { MpesaRefusal, badField } from './mpesa-reply.ts';
import { refusal, statusParameters } from './mpesa-shop.ts';
import type { MpesaShop } from './mpesa-shop.ts';
import { compactTime } from './mpesa-time.ts';

/** Status queries, reversals, payouts and balances: their results are posted to the ResultURL. */
export function addInitiatorEndpoints(app: FastifyInstance, shop: MpesaShop): void {
  const requests = createInitiatorRequests(shop);
  addStatusQueries(app, shop, requests);
  addReversals(app, shop, requests);
  addPayouts(app, shop, requests);
  addBalances(app, shop, requests);
}

function addStatusQueries(
  app: FastifyInstance,
  shop: MpesaShop,
  { acknowledge, checkInitiator, isInitiator }: InitiatorRequests,
): void {
  const { credentials } = shop;
  const lostOnce = new Set<string>();
  app.post<{ Body: MpesaBody }>('/mpesa/transactionstatus/v1/query', ({ body }) => {
    checkInitiator(body, /^TransactionStatusQuery$/);
    if (required(body, 'PartyA', /^[0-9]{5,12}$/) !== credentials.short_code) throw badField('PartyA');
    required(body, 'IdentifierType', /^[124]$/);
    const found = isInitiator(body) ? findTransaction(shop, body) : undefined;
    return acknowledge(body, (ids) => {
      if (!isInitiator(body)) return { ...refusal('WRONG_INITIATOR'), transaction: '' };
      if (found === undefined) return { ...refusal('INVALID_ID'), transaction: '' };
      if (shop.outcomeOf(found.payer)?.quirk === 'status_result_lost' && !lostOnce.has(found.id)) {
        lostOnce.add(found.id);
        return 'lost';
      }
      const parameters = statusParameters(found, ids, credentials.short_code);
      return { ...refusal(''), transaction: '', parameters };
    });
  });
}

function findTransaction({ dialect, payments, list }: MpesaShop, body: MpesaBody): Payment | undefined {
  const receipt = textOf(body, 'TransactionID');
  const conversation = textOf(body, 'OriginalConversationID');
  const all = list();
  const reversals = all.flatMap(({ requestId }) => payments.refundsOf(requestId));
  if (receipt !== '') {
    return [...all, ...reversals].find(
      ({ reference, state }) => reference === receipt && state.status === 'completed',
    );
  }
  const reversal = reversals.find(
    ({ requestId, details }) => requestId === conversation || details['conversationId'] === conversation,
  );
  const isRequest = ({ details }: Payment) => details['merchantRequestId'] === conversation;
  return reversal ?? (dialect.statusByRequest ? all.find(isRequest) : undefined);
}

function addReversals(
  app: FastifyInstance,
  shop: MpesaShop,
  { acknowledge, acknowledgement, checkInitiator, isInitiator, newConversation }: InitiatorRequests,
): void {
  const { context, credentials, dialect, payments } = shop;
  const { now, delaysMs, received, id: wallet } = context;
  for (const path of dialect.reversalPaths) {
    app.post<{ Body: MpesaBody }>(path, async ({ body }) => {
      checkInitiator(body, /^TransactionReversal$/);
      const receipt = required(body, 'TransactionID', /^[A-Z0-9]{6,20}$/);
      const amount = required(body, 'Amount', /^[1-9][0-9]{0,5}(\.0+)?$/);
      // The documentation of each country has one of the two, and published client libraries send the other.
      required(body, 'RecieverIdentifierType', /^(4|11)$/);
      required(body, 'Remarks', /^.{2,100}$/);
      if (textOf(body, 'ReceiverParty') !== credentials.short_code) throw badField('ReceiverParty');
      const original = shop.byReceipt(receipt);
      // Part of a payment cannot be reversed.
      if (original !== undefined && Number(amount) !== Number(formatAmount(original.amount)))
        throw badField('Amount');
      const note = (answer: string): void =>
        received.add({
          at: now(),
          wallet,
          kind: 'reversal',
          subject: receipt,
          answer,
          correlationId: textOf(body, 'OriginatorConversationID') || undefined,
        });
      const failure = reversalFailure(shop, isInitiator(body), original);
      if (original === undefined || failure !== undefined) {
        note(failure ?? 'INVALID_ID');
        return acknowledge(body, () => ({ ...refusal(failure ?? 'INVALID_ID'), transaction: '' }));
      }
      const ids = newConversation(body);
      const reversal = payments.open({
        kind: 'refund',
        requestId: ids[0],
        reference: shop.newReceipt(),
        original: original.requestId,
        payer: original.payer,
        amount: parseAmount(formatAmount(original.amount)),
        currency: original.currency,
        description: textOf(body, 'Remarks'),
        channel: 'ussd',
        merchantReference: '',
        callbackUrl: textOf(body, 'ResultURL'),
        details: { conversationId: ids[1], receipt },
        expiresAt: new Date(now().getTime() + delaysMs.promptExpiry),
        awaitsPerson: false,
      });
      payments.scheduleOutcome(reversal);
      const isLost = losesRefundAnswer(original.outcome);
      note(isLost ? 'error' : 'accepted');
      if (isLost) throw new MpesaRefusal(500, '500.003.1001', 'Internal Server Error');
      return acknowledgement(ids);
    });
  }
}

/** Why a reversal fails; undefined when it is done. */
function reversalFailure(
  { payments }: MpesaShop,
  isInitiator: boolean,
  original: Payment | undefined,
): string | undefined {
  if (!isInitiator) return 'WRONG_INITIATOR';
  if (original?.state.status !== 'completed') return 'INVALID_ID';
  const done = payments.refundsOf(original.requestId).some(({ state }) => state.status !== 'failed');
  if (done) return 'ALREADY_REVERSED';
  return original.outcome.refund === 'refused' ? 'INVALID_STATE' : undefined;
}

function addPayouts(
  app: FastifyInstance,
  shop: MpesaShop,
  { acknowledge, acknowledgement, checkInitiator, isInitiator, newConversation }: InitiatorRequests,
): void {
  const { context, credentials, dialect, payments } = shop;
  const { now, delaysMs } = context;
  for (const path of [
    '/mpesa/b2c/v1/paymentrequest',
    '/mpesa/b2c/v2/paymentrequest',
    '/mpesa/b2c/v3/paymentrequest',
  ]) {
    app.post<{ Body: MpesaBody }>(path, ({ body }) => {
      checkInitiator(body, /^(Salary|Business|Promotion)Payment$/);
      const amount = required(body, 'Amount', /^[1-9][0-9]{0,5}(\.0+)?$/);
      const payer = required(body, 'PartyB', dialect.msisdn);
      if (textOf(body, 'PartyA') !== credentials.short_code) throw badField('PartyA');
      const ids = newConversation(body);
      if (payments.find('payout', ids[0]) !== undefined) {
        throw new MpesaRefusal(500, '500.002.1001', 'Duplicate OriginatorConversationID.');
      }
      if (!isInitiator(body))
        return acknowledge(body, () => ({ ...refusal('WRONG_INITIATOR'), transaction: '' }));
      const payout = payments.open({
        kind: 'payout',
        requestId: ids[0],
        reference: shop.newReceipt(),
        payer,
        amount: parseAmount(amount.replace(/\.0+$/, '')),
        currency: dialect.currency,
        description: textOf(body, 'Remarks'),
        channel: 'ussd',
        merchantReference: '',
        callbackUrl: textOf(body, 'ResultURL'),
        details: { conversationId: ids[1] },
        expiresAt: new Date(now().getTime() + delaysMs.promptExpiry),
        awaitsPerson: false,
      });
      payments.scheduleOutcome(payout);
      return acknowledgement(ids);
    });
  }
}

function addBalances(
  app: FastifyInstance,
  shop: MpesaShop,
  { acknowledge, checkInitiator, isInitiator }: InitiatorRequests,
): void {
  const { context, credentials, dialect } = shop;
  for (const path of ['/mpesa/accountbalance/v1/query', '/mpesa/accountbalance/v2/query']) {
    app.post<{ Body: MpesaBody }>(path, ({ body }) => {
      checkInitiator(body, /^AccountBalance$/);
      if (textOf(body, 'PartyA') !== credentials.short_code) throw badField('PartyA');
      return acknowledge(body, () => {
        if (!isInitiator(body)) return { ...refusal('WRONG_INITIATOR'), transaction: '' };
        const balance = (Number(context.ledger.balance(merchantAccount, dialect.currency)) / 10_000).toFixed(
          2,
        );
        const working = `Working Account|${dialect.currency}|0.00|0.00|0.00|0.00`;
        const utility = `Utility Account|${dialect.currency}|${balance}|${balance}|0.00|0.00`;
        const parameters = [
          { Key: 'AccountBalance', Value: `${working}&${utility}` },
          { Key: 'BOCompletedTime', Value: Number(compactTime(context.now())) },
        ];
        return { ...refusal(''), transaction: shop.newReceipt(), parameters };
      });
    });
  }
}
