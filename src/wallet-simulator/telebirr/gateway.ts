import type { TSchema } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { equalSecrets } from '../equal-secrets.ts';
import { findOrder, preOrder } from './create-order.ts';
import { FabricError, badRequest, unavailable } from './fabric-error.ts';
import { birr, localTime, orderContent } from './orders.ts';
import { orderContentSchema, preOrderContent, readCall, refundContent, requireApp } from './read-call.ts';
import { refund } from './refund.ts';
import { signFields, signType } from './signing.ts';
import type { Fields } from './signing.ts';
import type { Telebirr } from './telebirr-state.ts';

const gateway = '/apiaccess/payment/gateway/payment/v1';

/** telebirr's API for merchants: access tokens, orders and refunds. */
export function addGateway(app: FastifyInstance, telebirr: Telebirr): void {
  answerErrors(app);
  addToken(app, telebirr);
  addOrders(app, telebirr);
  addRefund(app, telebirr);
}

function answerErrors(app: FastifyInstance): void {
  app.setErrorHandler((error: unknown, request, reply): FastifyReply => {
    const known = error instanceof FabricError ? error : badRequest(error);
    if (known.status >= 500 && !(error instanceof FabricError)) {
      request.log.error({ err: error }, 'the simulator could not answer a request');
    }
    const { status, code, message } = known;
    const body = { errorCode: code, errorMsg: message, errorSolution: 'See the documentation.' };
    return reply.code(status).send({ ...body, code, msg: message, result: 'FAIL' });
  });
  app.setNotFoundHandler(() => {
    throw new FabricError(404, '404', 'can not find api');
  });
}

function addToken(app: FastifyInstance, { context, credentials, tokens }: Telebirr): void {
  app.post<{ Body: { appSecret?: string } | undefined }>(`${gateway}/token`, (request) => {
    requireApp(request, credentials);
    if (!equalSecrets(request.body?.appSecret ?? '', credentials.appSecret)) {
      throw new FabricError(401, '60200001', 'The app secret is wrong');
    }
    const now = context.now();
    const token = `Bearer ${context.randomBytes(32).toString('hex')}`;
    const expires = new Date(now.getTime() + context.tokenLifetimeSeconds * 1_000);
    for (const [old, expiresMs] of tokens) if (expiresMs <= now.getTime()) tokens.delete(old);
    tokens.set(token, expires.getTime());
    const compact = (at: Date): string => localTime(at).replace(/[^0-9]/g, '');
    return { token, effectiveDate: compact(now), expirationDate: compact(expires) };
  });
}

interface Call {
  readonly path: string;
  /** Undefined if the documentation gives none, so that any is accepted. */
  readonly method: string | undefined;
  readonly schema: TSchema;
  readonly answer: (
    content: Fields,
    request: FastifyRequest,
    reply: FastifyReply,
  ) => object | Promise<object>;
}

/** A signed call with a token. */
function addCall(app: FastifyInstance, telebirr: Telebirr, { path, method, schema, answer }: Call): void {
  app.post(`${gateway}${path}`, async (request, reply) => {
    if (telebirr.takeFault('rate_limit')) {
      throw new FabricError(403, '49401021002', 'The request is rejected by quotaControl');
    }
    if (telebirr.takeFault('unavailable')) throw unavailable;
    const content = readCall(telebirr, request, method, schema);
    const result = await answer(content, request, reply);
    return reply.sent ? reply : signedAnswer(telebirr, result);
  });
}

function addOrders(app: FastifyInstance, telebirr: Telebirr): void {
  const { credentials, payments, takeFault } = telebirr;
  addCall(app, telebirr, {
    path: '/merchant/preOrder',
    method: 'payment.preorder',
    schema: preOrderContent,
    answer: (content, request, reply) => {
      if (takeFault('preorder_not_received')) return hang(telebirr, request, reply);
      const payment = preOrder(telebirr, content);
      if (takeFault('preorder_lost')) return hang(telebirr, request, reply);
      return { merch_order_id: payment.requestId, prepay_id: payment.details['prepay_id'] };
    },
  });
  const createInAppOrder = (content: Fields): object => {
    const payment = preOrder(telebirr, content);
    const { prepay_id: prepayId, timeout_express: timeout } = payment.details;
    const { merchantCode } = credentials;
    return {
      merch_order_id: payment.requestId,
      prepay_id: prepayId,
      receiveCode: `TELEBIRR$BUYGOODS$${merchantCode}$${birr(payment.amount)}$${String(prepayId)}$${String(timeout)}`,
    };
  };
  // The portal's table and its sample have different paths, and no source gives the method of in-app orders.
  for (const path of ['/inapp/createOrder', '/merchant/inapp/createOrder']) {
    addCall(app, telebirr, { path, method: undefined, schema: preOrderContent, answer: createInAppOrder });
  }
  addCall(app, telebirr, {
    path: '/merchant/queryOrder',
    method: 'payment.queryorder',
    schema: orderContentSchema,
    answer: (content) => orderContent(findOrder(telebirr, content), payments),
  });
}

function addRefund(app: FastifyInstance, telebirr: Telebirr): void {
  const { takeFault } = telebirr;
  addCall(app, telebirr, {
    path: '/merchant/refund',
    method: 'payment.refund',
    schema: refundContent,
    answer: (content) => {
      if (takeFault('refund_not_enabled')) {
        throw new FabricError(299, '60320025', 'Failed to call the payment platform');
      }
      const isLost = takeFault('refund_lost');
      const answer = refund(telebirr, content);
      if (isLost) throw unavailable;
      return answer;
    },
  });
}

/** Holds the connection and sends no answer. */
function hang({ context }: Telebirr, request: FastifyRequest, reply: FastifyReply): object {
  reply.hijack();
  const cancelHang = context.after(context.delaysMs.hang, () => request.raw.socket.destroy());
  request.raw.socket.once('close', cancelHang);
  return {};
}

function signedAnswer({ context, credentials }: Telebirr, content: object): object {
  const message = {
    result: 'SUCCESS',
    code: '0',
    msg: 'success',
    nonce_str: context.randomBytes(16).toString('hex'),
    biz_content: content,
  };
  return { ...message, sign: signFields(message, credentials.telebirrPrivateKey), sign_type: signType };
}
