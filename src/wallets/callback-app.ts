import { BlockList, isIP, isIPv6 } from 'node:net';
import type { Client } from '@connectrpc/connect';
import { Code, ConnectError } from '@connectrpc/connect';
import Fastify from 'fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { PayerPaymentService } from '../gen/gatehouse/v1/payer_payment_service_pb.js';
import type { PaymentAttemptService } from '../gen/gatehouse/v1/payment_attempt_service_pb.js';
import type { RefundService } from '../gen/gatehouse/v1/refund_service_pb.js';
import type { StrayPaymentService } from '../gen/gatehouse/v1/stray_payment_service_pb.js';
import { closeConnectionsWhenDraining } from '../platform/http/draining.ts';
import { edgeServerOptions, protectEdge } from '../platform/http/edge-server.ts';
import type { MeasureRequests } from '../platform/http/http-metrics.ts';
import type { Tracing } from '../platform/tracing/tracing.ts';
import { limitLines } from '../platform/line-limit.ts';
import type { Logger } from '../platform/logger.ts';
import { carriesKey } from './callback-credentials.ts';
import type { CallbackTokens } from './callback-token.ts';
import { exchangeMessage } from './exchange-messages.ts';
import { timeoutPath } from './connector/wallet-connector.ts';
import type { CallbackHint, CallbackRequest, WalletConnector } from './connector/wallet-connector.ts';
import { answerValidation, isPayerStage, storeConfirmation } from './payer-started.ts';
import type { PayerStartedWallet } from './payer-started.ts';
import { untilCoreAnswers } from './until-core-answers.ts';

/** A wallet with callbacks, identified by the name in its callback URLs. */
export interface CallbackWallet {
  readonly name: string;
  readonly connector: WalletConnector;
  /** The tokens of its callback URLs. */
  readonly tokens: CallbackTokens;
  /** The addresses and networks that may send its callbacks; any when empty. */
  readonly sources: readonly string[];
  /** The required X-API-Key of its callbacks; undefined when none is required. */
  readonly apiKey: string | undefined;
  /** For payments that payers start; undefined when they are not taken. */
  readonly payerStarted: PayerStartedWallet | undefined;
}

export interface CallbackAppOptions {
  readonly wallets: readonly CallbackWallet[];
  readonly payments: Client<typeof PaymentAttemptService>;
  readonly strayPayments: Client<typeof StrayPaymentService>;
  readonly refunds: Client<typeof RefundService>;
  readonly payerPayments: Client<typeof PayerPaymentService>;
  readonly trustedProxies: readonly string[];
  readonly logger: Logger;
  readonly measureRequests?: MeasureRequests;
  /** Undefined when tracing is off. */
  readonly tracing?: Tracing | undefined;
  readonly now: () => Date;
  readonly newRequestId: () => string;
  /** Aborts when the process begins to stop. */
  readonly draining: AbortSignal;
}

/** The sender of a callback, which has proved that it knows the secret address, and the wallet's key. */
interface AuthenticSender {
  readonly wallet: CallbackWallet;
  readonly merchantId: string;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Null before the sender is known. */
    callbackSender: AuthenticSender | null;
  }
}

/** Core did not accept a callback, which would have made the next query due at once. */
class CallbackNotTaken extends Error {
  override readonly name = 'CallbackNotTaken';
  /** Whether a later query needs the content of the callback. */
  readonly isNoteLost: boolean;

  constructor(cause: ConnectError, isNoteLost: boolean) {
    super(cause.message, { cause });
    this.isNoteLost = isNoteLost;
  }
}

/** How long a callback waits for core if a later query needs its content. M-Pesa never repeats one, so a restart of core must not lose it. */
const noteMs = 25_000;

/** Enough to find the calls with which an outage began. */
const notTakenLinesPerMinute = 20;

/** The advice to operators about refused callbacks. */
const ignoreUnknownSender =
  'Its URL is not one of this wallet and environment. From an unknown sender, ignore it. ' +
  'From the wallet, find out whether GATEHOUSE_WALLET_CALLBACK_KEY changed or differs between wallets processes';
const allowSource =
  'Its URL is genuine, but its address is not in callbacks.sources. If the address is the wallet’s, add it there, and restart the wallets process. ' +
  'If it is that of your proxy, set GATEHOUSE_TRUSTED_PROXIES';
const agreeKey =
  'Its URL is genuine, but X-API-Key is missing or wrong. Give the wallet the key of callbacks.api_key, or set the key that the wallet sends';

const paths = ['/callbacks/:wallet/:id/:token', `/callbacks/:wallet/:id/:token${timeoutPath}`] as const;

interface CallbackParams {
  readonly wallet: string;
  readonly id: string;
  readonly token: string;
}

/** Larger than any genuine callback. */
const bodyLimit = 64 * 1024;

/**
 * Receives callbacks of wallets, by PUT or POST to `/callbacks/<wallet>/<our id>/<token>`, or below it to `/timeout`. The words `validation` and `confirmation`
 * stand for the id in messages about payments that payers start. The content of a message is never trusted. An authentic callback
 * causes a query soon. Any other gets the answer of an unknown path, or 401 if only the wallet's key is missing.
 */
export function buildCallbackApp(options: CallbackAppOptions): FastifyInstance {
  const app = Fastify({
    ...edgeServerOptions(options),
    bodyLimit,
  });
  protectEdge(app, options, ({ field, issue }) =>
    Object.assign(new Error(`${field} ${issue}`), { statusCode: 400 }),
  );
  // A callback is a hint. Its bytes are stored as received, whatever its content type.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.addHook('onRequest', (request, reply, done) => {
    // A callback without a valid content type is also a hint.
    request.headers['content-type'] = 'application/octet-stream';
    // Before its body is read, which anyone can send bit by bit on thousands of connections.
    if (request.is404) reply.code(404).send();
    else done();
  });
  app.setNotFoundHandler((_request, reply) => reply.code(404).send());
  app.setErrorHandler(createCallbackErrorHandler(options.logger));
  app.decorateRequest('callbackSender', null);
  // A wallet's connection that stays open would delay the stop of the process.
  const isDraining = closeConnectionsWhenDraining(app, options.draining);
  app.get('/healthz', () => ({ status: 'ok' }));
  app.get('/readyz', (_request, reply) =>
    reply.code(isDraining() ? 503 : 200).send({ status: isDraining() ? 'draining' : 'ok' }),
  );
  addCallbackRoutes(app, options);
  return app;
}

/** Logs an error and answers with its status, without a body. */
function createCallbackErrorHandler(
  logger: Logger,
): (error: unknown, request: FastifyRequest, reply: FastifyReply) => FastifyReply {
  const logLimited = (message: string) =>
    limitLines((facts: object, count) => {
      logger.warn(count === 1 ? facts : { ...facts, count }, message);
    }, notTakenLinesPerMinute);
  const notTaken = 'core did not accept a callback, so the wallet got 503. ';
  const cause = 'Find the cause with: gatehouse doctor';
  const logNotTaken = logLimited(
    `${notTaken}No payment is lost: the wallets process queries its outcome when core works again. ${cause}`,
  );
  const logNoteLost = logLimited(
    `${notTaken}If the wallet does not repeat it, the wallets process may not learn the receipt of a payment, or the result of a refund. ` +
      `To list what stays undecided: gatehouse settlement waiting. ${cause}`,
  );
  return (error, request, reply) => {
    const status = statusOf(error);
    const facts = { err: error, request_id: request.id };
    if (error instanceof CallbackNotTaken)
      (error.isNoteLost ? logNoteLost : logNotTaken)(error.message, facts);
    else if (error instanceof ConnectError)
      logger.error(
        facts,
        "core did not store the confirmation of a payment, so the wallet got 503. If the wallet does not repeat it, compare the wallet's portal " +
          `or statement with: gatehouse payment payer-started. ${cause}`,
      );
    else if (status >= 500)
      logger.error(
        facts,
        'a callback could not be handled because of an unexpected error. Report this line and the version of Gatehouse. ' +
          'To list what stays undecided: gatehouse settlement waiting',
      );
    return reply.code(status).send();
  };
}

function addCallbackRoutes(app: FastifyInstance, options: CallbackAppOptions): void {
  const { wallets, logger } = options;
  const byName = new Map(
    wallets.map((wallet) => [wallet.name, { ...wallet, allowed: allowList(wallet.sources) }]),
  );
  const logRefused = limitLines(({ action, ...facts }: { readonly action: string }, count) =>
    logger.warn({ ...facts, count }, `callback refused. ${action}`),
  );
  const hasten = createHasten(options);

  const factsOf = ({ id: requestId, ip, params }: FastifyRequest<{ Params: CallbackParams }>) => ({
    request_id: requestId,
    ip,
    wallet: byName.has(params.wallet) ? params.wallet : 'unknown',
  });
  /** Refuses a sender before the body is read. */
  const admit = (
    request: FastifyRequest<{ Params: CallbackParams }>,
    reply: FastifyReply,
    done: () => void,
  ): void => {
    const { wallet: name, id, token } = request.params;
    const wallet = byName.get(name);
    const merchantId = wallet?.tokens.merchantOf(id, token);
    const facts = factsOf(request);
    if (wallet === undefined || merchantId === undefined || !wallet.allowed(request.ip)) {
      const known = { known_wallet: wallet !== undefined, token_ok: merchantId !== undefined };
      const action = known.token_ok ? allowSource : ignoreUnknownSender;
      logRefused(`${facts.wallet} ${known.token_ok}`, { ...facts, ...known, action });
      reply.code(404).send();
      return;
    }
    // The sender knows the secret address, so it is the wallet with another configuration. The answer tells it the problem.
    if (!carriesKey(request.headers, wallet.apiKey)) {
      const known = { merchant_id: merchantId, about: id, key_ok: false };
      logRefused(`${facts.wallet} key`, { ...facts, ...known, action: agreeKey });
      reply.code(401).send();
      return;
    }
    request.callbackSender = { wallet, merchantId };
    done();
  };

  const receive = async (
    request: FastifyRequest<{ Params: CallbackParams }>,
    reply: FastifyReply,
    isTimeout: boolean,
  ): Promise<FastifyReply> => {
    const { wallet: name, id } = request.params;
    if (request.callbackSender === null) throw new TypeError('a callback was not checked');
    const { wallet, merchantId } = request.callbackSender;
    const message: CallbackRequest = {
      method: request.method,
      url: `/callbacks/${name}/${id}/…${isTimeout ? timeoutPath : ''}`,
      headers: request.raw.headersDistinct,
      body: Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0),
      receivedAt: options.now(),
    };
    const hint = wallet.connector.parseCallback(message);
    if (isPayerStage(id)) {
      if (wallet.payerStarted === undefined) return reply.code(404).send();
      const answer =
        id === 'validation'
          ? await answerValidation(options, wallet.payerStarted, message)
          : await storeConfirmation(options, wallet.payerStarted, message, hint.reply);
      return reply.code(answer.status).send(answer.body === '' ? undefined : answer.body);
    }
    await hasten(merchantId, id, hint);
    const facts = { ...factsOf(request), merchant_id: merchantId, about: id };
    logger.info({ ...facts, announced: hint.announced }, 'callback');
    return reply.code(hint.reply.status).send(hint.reply.body === '' ? undefined : hint.reply.body);
  };

  for (const url of paths)
    app.route<{ Params: CallbackParams }>({
      method: ['PUT', 'POST'],
      url,
      onRequest: admit,
      handler: (request, reply) => receive(request, reply, url.endsWith(timeoutPath)),
    });
}

type Hasten = (merchantId: string, id: string, hint: CallbackHint) => Promise<void>;

/** Makes the work with this id due now, because a callback arrived. @throws CallbackNotTaken if the wallet should repeat the callback */
function createHasten({
  payments,
  strayPayments,
  refunds,
  payerPayments,
  logger,
}: CallbackAppOptions): Hasten {
  const logRepeat = limitLines(({ err, about }: { err: unknown; about: string }, count) =>
    logger.warn({ err, about, count }, 'core did not accept a callback; trying again'),
  );
  return async (merchantId, id, hint) => {
    const callback = { merchantId, exchange: exchangeMessage(hint.exchange), callbackNote: hint.note ?? '' };
    const hasten = (): Promise<unknown> => {
      if (id.startsWith('pat_')) return payments.hastenPaymentAttempt({ ...callback, paymentAttemptId: id });
      if (id.startsWith('rfd_')) return refunds.hastenRefund({ ...callback, refundId: id });
      if (id.startsWith('ppm_')) return payerPayments.hastenPayerPayment({ ...callback, payerPaymentId: id });
      return strayPayments.hastenReversal({ ...callback, reversalId: id });
    };
    const hasNote = hint.note !== undefined;
    try {
      const onFailure = (error: unknown): void =>
        logRepeat(error instanceof ConnectError ? String(error.code) : '', { err: error, about: id });
      await (hasNote
        ? untilCoreAnswers(hasten, { giveUp: AbortSignal.timeout(noteMs), onFailure })
        : hasten());
    } catch (error) {
      // If core does not know the id, the wallet need not repeat the callback. After any other error it should.
      if (!(error instanceof ConnectError)) throw error;
      if (error.code !== Code.NotFound) throw new CallbackNotTaken(error, hasNote);
    }
  };
}

function statusOf(error: unknown): number {
  if (error instanceof ConnectError || error instanceof CallbackNotTaken) return 503;
  const status = error instanceof Error && 'statusCode' in error ? error.statusCode : 500;
  return typeof status === 'number' && status >= 400 && status < 500 ? status : 500;
}

function allowList(sources: readonly string[]): (ip: string) => boolean {
  if (sources.length === 0) return () => true;
  const list = new BlockList();
  const family = (address: string) => (isIPv6(address) ? 'ipv6' : 'ipv4');
  for (const source of sources) {
    const [address = '', bits] = source.split('/');
    if (bits === undefined) list.addAddress(address, family(address));
    else list.addSubnet(address, Number(bits), family(address));
  }
  // A trusted balancer may pass on a text that is no address.
  return (ip) => isIP(ip) !== 0 && list.check(ip, family(ip));
}
