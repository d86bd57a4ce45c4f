import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { formatAmount } from '../amount.ts';
import { sendCallback } from '../send-callback.ts';
import { createPayments, merchantAccount } from '../payments.ts';
import type { NewPayment, Payment } from '../payment.ts';
import type { Payments } from '../payments.ts';
import { losesRefundAnswer } from '../payer-outcomes.ts';
import type { SimulatedProtocol, SimulatedWallet, WalletContext } from '../simulated-wallet.ts';
import type { MtnCredentials, ProductName } from './credentials.ts';
import { credentialsSchema, readCredentials } from './credentials.ts';
import {
  MtnError,
  imitateGateway,
  mtnError,
  readBody,
  readCallbackUrl,
  readReferenceId,
  requireSubscription,
  requireToken,
  requireUser,
} from './gateway.ts';
import type { IssuedToken } from './gateway.ts';
import { internalError, outcomeOfNumber } from './outcomes.ts';
import { addProvisioning } from './provisioning.ts';
import { checkBody, payBody, payoutBody, readMsisdn, refundBody, requireUuid } from './requests.ts';
import { shownStatus, statusObject } from './status-object.ts';

/**
 * The MTN MoMo Open API: provisioning, tokens, Collection (request to pay) and Disbursement (refund, transfer, deposit). It has the test
 * numbers of MTN's sandbox and those of the table for all wallets.
 */
export const mtnMomo: SimulatedProtocol = {
  credentials: credentialsSchema,
  mount: async (scope, context) => mount(scope, context, readCredentials(context.credentials)),
};

/** One API with its state. */
interface Mtn {
  readonly context: WalletContext;
  readonly credentials: MtnCredentials;
  readonly payments: Payments;
  readonly tokens: Map<string, IssuedToken>;
  /** Ids whose first request was refused as too fast. */
  readonly rateLimited: Set<string>;
}

async function mount(
  scope: FastifyInstance,
  context: WalletContext,
  credentials: MtnCredentials,
): Promise<SimulatedWallet> {
  const tokens = new Map<string, IssuedToken>();
  const payments = createPayments({
    ...context,
    wallet: context.id,
    outcomeOf: outcomeOfNumber,
    codes: { declined: 'APPROVAL_REJECTED', expired: 'EXPIRED' },
    shownStatus,
    callBack: (payment, tells) => {
      const status = { truth: undefined, failure: 'FAILED', forged: 'SUCCESSFUL' }[tells];
      return sendCallback(context, {
        url: payment.callbackUrl ?? '',
        // Operations of version 1 call back by POST, those of version 2 by PUT.
        method: payment.details['apiVersion'] === 'v2_0' ? 'PUT' : 'POST',
        contentType: 'application/json',
        body: JSON.stringify(withoutVersion(statusObject(payment, status))),
      });
    },
  });
  const mtn: Mtn = { context, credentials, payments, tokens, rateLimited: new Set() };
  imitateGateway(scope);
  await scope.register(async (child) => addProvisioning(child, credentials, context.randomBytes));
  addTokens(scope, mtn);
  addCollection(scope, mtn);
  addDisbursement(scope, mtn);
  addAccounts(scope, mtn);
  const { prompts, charges, balances, decide, close } = payments;
  return { id: context.id, prompts, charges, balances, decide, close, expireTokens: () => tokens.clear() };
}

const products = ['collection', 'disbursement'] as const;

/** The version of the called operation is for the callback only. */
function withoutVersion(object: object): object {
  const { apiVersion: _version, ...rest } = object as { apiVersion?: unknown };
  return rest;
}

function addTokens(app: FastifyInstance, { context, credentials, tokens }: Mtn): void {
  const { now, randomBytes, tokenLifetimeSeconds } = context;
  for (const product of products) {
    for (const path of [`/${product}/token/`, `/${product}/token`]) {
      app.post(path, (request) => {
        requireSubscription(request, credentials, [product]);
        const { id } = requireUser(request, credentials);
        const token = randomBytes(48).toString('base64url');
        const nowMs = now().getTime();
        for (const [old, { expiresMs }] of tokens) if (expiresMs <= nowMs) tokens.delete(old);
        tokens.set(token, { product, user: id, expiresMs: nowMs + tokenLifetimeSeconds * 1_000 });
        return { access_token: token, token_type: 'access_token', expires_in: tokenLifetimeSeconds };
      });
    }
  }
}

/** MTN's ids of transactions are digits. */
const newReference = (randomBytes: (count: number) => Buffer): string =>
  String(randomBytes(6).readUIntBE(0, 6)).padStart(10, '1').slice(0, 10);

/** Reads the common parts of a request that creates something. */
function readCreation(request: FastifyRequest, { context, credentials, tokens }: Mtn, product: ProductName) {
  const user = requireToken(request, credentials, product, tokens, context.now());
  return { requestId: readReferenceId(request), callbackUrl: readCallbackUrl(request, user) };
}

function refuseRepetition({ payments }: Mtn, kind: Payment['kind'], requestId: string): void {
  if (payments.find(kind, requestId) === undefined) return;
  throw mtnError(409, 'RESOURCE_ALREADY_EXIST', 'Duplicated reference id. Creation of resource failed.');
}

function addCollection(app: FastifyInstance, mtn: Mtn): void {
  const { context, credentials, payments } = mtn;
  app.post('/collection/v1_0/requesttopay', async (request, reply) => {
    const { requestId, callbackUrl } = readCreation(request, mtn, 'collection');
    return withRecord(mtn, 'payment', requestId, async () => {
      refuseRepetition(mtn, 'payment', requestId);
      const body = checkBody(payBody, readBody(request), credentials.currencies);
      const payer = readMsisdn(body.payer);
      const { units, amount: _amount, ...details } = body;
      const fixed = outcomeOfNumber(payer);
      return requestToPay(mtn, request, reply, {
        kind: 'payment',
        requestId,
        reference: newReference(context.randomBytes),
        payer,
        amount: units,
        currency: body.currency,
        description: body.payerMessage ?? '',
        channel: 'ussd',
        merchantReference: body.externalId ?? '',
        ...(callbackUrl === undefined ? {} : { callbackUrl }),
        details,
        expiresAt: new Date(context.now().getTime() + context.delaysMs.promptExpiry),
        awaitsPerson: context.interactive && fixed === undefined,
      });
    });
  });
  app.get<{ Params: { id: string } }>('/collection/v1_0/requesttopay/:id', (request) => {
    requireToken(request, credentials, 'collection', mtn.tokens, context.now());
    return withoutVersion(statusObject(findPayment(mtn, 'payment', request.params.id)));
  });
  app.post<{ Params: { id: string } }>(
    '/collection/v1_0/requesttopay/:id/deliverynotification',
    (request, reply) => {
      requireToken(request, credentials, 'collection', mtn.tokens, context.now());
      findPayment(mtn, 'payment', request.params.id);
      return reply.code(200).send();
    },
  );

  /** Creates the payment and answers as the payer's number selects. */
  async function requestToPay(
    { rateLimited }: Mtn,
    request: FastifyRequest,
    reply: FastifyReply,
    payment: NewPayment,
  ): Promise<FastifyReply> {
    const { acknowledgement } = outcomeOfNumber(payment.payer) ?? { acknowledgement: { kind: 'accepted' } };
    switch (acknowledgement.kind) {
      case 'rate_limited_once':
        if (!rateLimited.has(payment.requestId)) {
          rateLimited.add(payment.requestId);
          throw new MtnError(429, {
            statusCode: 429,
            message: 'Rate limit is exceeded. Try again in 1 seconds.',
          });
        }
        break;
      case 'hangs': {
        if (acknowledgement.creates) payments.scheduleOutcome(payments.open(payment));
        reply.hijack();
        const cancelHang = context.after(context.delaysMs.hang, () => request.raw.socket.destroy());
        request.raw.socket.once('close', cancelHang);
        return reply;
      }
      case 'error':
        if (acknowledgement.creates) payments.scheduleOutcome(payments.open(payment));
        throw new MtnError(acknowledgement.answer.status, acknowledgement.answer.body);
      case 'accepted_late': {
        const early = payments.open(payment);
        payments.end(early);
        await payments.callBack(early);
        return reply.code(202).send();
      }
      case 'accepted':
        break;
    }
    payments.scheduleOutcome(payments.open(payment));
    return reply.code(202).send();
  }
}

function addDisbursement(app: FastifyInstance, mtn: Mtn): void {
  const { context, credentials, payments } = mtn;
  for (const apiVersion of ['v1_0', 'v2_0'] as const) {
    app.post(`/disbursement/${apiVersion}/refund`, async (request, reply) => {
      const { requestId, callbackUrl } = readCreation(request, mtn, 'disbursement');
      return withRecord(mtn, 'reversal', requestId, async () => {
        refuseRepetition(mtn, 'refund', requestId);
        const body = checkBody(refundBody, readBody(request), credentials.currencies);
        const original = refundablePayment(mtn, body.referenceIdToRefund, body.units, body.currency);
        const { units, amount: _amount, referenceIdToRefund: _original, ...details } = body;
        const { refund } = original.outcome;
        if (refund === 'refused') throw mtnError(500, 'NOT_ALLOWED', 'The payment cannot be refunded.');
        payments.scheduleOutcome(
          payments.open({
            kind: 'refund',
            requestId,
            reference: newReference(context.randomBytes),
            original: original.requestId,
            payer: original.payer,
            amount: units,
            currency: body.currency,
            description: body.payeeNote ?? '',
            channel: 'ussd',
            merchantReference: body.externalId ?? '',
            ...(callbackUrl === undefined ? {} : { callbackUrl }),
            details: { ...details, apiVersion },
            expiresAt: new Date(context.now().getTime() + context.delaysMs.promptExpiry),
            awaitsPerson: false,
          }),
        );
        if (losesRefundAnswer(original.outcome)) throw new MtnError(internalError.status, internalError.body);
        return reply.code(202).send();
      });
    });
  }
  for (const [name, versions] of [
    ['transfer', ['v1_0']],
    ['deposit', ['v1_0', 'v2_0']],
  ] as const) {
    for (const apiVersion of versions) {
      app.post(`/disbursement/${apiVersion}/${name}`, async (request, reply) => {
        const { requestId, callbackUrl } = readCreation(request, mtn, 'disbursement');
        refuseRepetition(mtn, 'payout', requestId);
        const body = checkBody(payoutBody, readBody(request), credentials.currencies);
        const { units, amount: _amount, ...details } = body;
        const payer = readMsisdn(body.payee);
        payments.scheduleOutcome(
          payments.open({
            kind: 'payout',
            requestId,
            reference: newReference(context.randomBytes),
            payer,
            amount: units,
            currency: body.currency,
            description: body.payeeNote ?? '',
            channel: 'ussd',
            merchantReference: body.externalId ?? '',
            ...(callbackUrl === undefined ? {} : { callbackUrl }),
            details: { ...details, apiVersion },
            expiresAt: new Date(context.now().getTime() + context.delaysMs.promptExpiry),
            awaitsPerson: false,
          }),
        );
        return reply.code(202).send();
      });
    }
  }
  for (const [name, kind] of [
    ['refund', 'refund'],
    ['transfer', 'payout'],
    ['deposit', 'payout'],
  ] as const) {
    app.get<{ Params: { id: string } }>(`/disbursement/v1_0/${name}/:id`, (request) => {
      requireToken(request, credentials, 'disbursement', mtn.tokens, context.now());
      return withoutVersion(statusObject(findPayment(mtn, kind, request.params.id)));
    });
  }
}

function addAccounts(app: FastifyInstance, { context, credentials, tokens }: Mtn): void {
  for (const product of products) {
    const require = (request: FastifyRequest) =>
      requireToken(request, credentials, product, tokens, context.now());
    const balance = (currency: string) => ({
      availableBalance: formatAmount(context.ledger.balance(merchantAccount, currency)),
      currency,
    });
    app.get(`/${product}/v1_0/account/balance`, (request) => {
      require(request);
      return balance(credentials.currencies[0] ?? 'EUR');
    });
    app.get<{ Params: { currency: string } }>(`/${product}/v1_0/account/balance/:currency`, (request) => {
      require(request);
      const { currency } = request.params;
      if (!credentials.currencies.includes(currency)) {
        throw mtnError(500, 'INVALID_CURRENCY', 'Currency not supported.');
      }
      return balance(currency);
    });
    app.get<{ Params: { type: string; id: string } }>(
      `/${product}/v1_0/accountholder/:type/:id/active`,
      (request) => {
        require(request);
        return { result: knowsSubscriber(request.params.id) };
      },
    );
    app.get<{ Params: { id: string } }>(
      `/${product}/v1_0/accountholder/msisdn/:id/basicuserinfo`,
      (request) => {
        require(request);
        if (!knowsSubscriber(request.params.id)) {
          throw mtnError(404, 'RESOURCE_NOT_FOUND', 'Requested resource was not found.');
        }
        return {
          given_name: 'Sand',
          family_name: 'Box',
          birthdate: '1976-08-13',
          locale: 'sv_SE',
          gender: 'MALE',
          status: 'Active',
        };
      },
    );
  }
}

/** Every number has a subscriber, except for those whose outcome says otherwise. */
function knowsSubscriber(msisdn: string): boolean {
  const ending = outcomeOfNumber(msisdn)?.ending;
  return ending?.status !== 'failed' || ending.code !== 'PAYER_NOT_FOUND';
}

/** @throws MtnError */
function findPayment({ payments }: Mtn, kind: Payment['kind'], id: string): Payment {
  const found = payments.find(kind, requireUuid(id));
  if (found !== undefined) return found;
  throw mtnError(404, 'RESOURCE_NOT_FOUND', 'Requested resource was not found.');
}

/** The payment to refund, if so much of it is left. @throws MtnError */
function refundablePayment({ payments }: Mtn, id: string, units: bigint, currency: string): Payment {
  const original = payments.find('payment', requireUuid(id));
  if (original?.state.status !== 'completed') {
    throw mtnError(404, 'RESOURCE_NOT_FOUND', 'Requested resource was not found.');
  }
  if (currency !== original.currency) throw mtnError(500, 'INVALID_CURRENCY', 'Currency not supported.');
  const left = payments
    .refundsOf(original.requestId)
    .filter(({ state }) => state.status !== 'failed')
    .reduce((rest, { amount }) => rest - amount, original.amount);
  if (units > left) throw mtnError(400, 'VALIDATION_ERROR', 'The amount is more than is left of the payment');
  return original;
}

/** Records a received request and its answer, for tests. */
async function withRecord<T>(
  { context }: Mtn,
  kind: 'payment' | 'reversal',
  correlationId: string,
  answer: () => Promise<T>,
): Promise<T> {
  const add = (word: string): void =>
    context.received.add({
      at: context.now(),
      wallet: context.id,
      kind,
      correlationId,
      subject: '',
      answer: word,
    });
  try {
    const result = await answer();
    add('accepted');
    return result;
  } catch (error) {
    add(error instanceof MtnError ? String(error.answer.status) : 'error');
    throw error;
  }
}
