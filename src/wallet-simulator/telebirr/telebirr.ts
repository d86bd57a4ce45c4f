import { Type } from '@sinclair/typebox';
import type { TSchema } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { parseAmount } from '../amount.ts';
import { standardDelaysMs } from '../delays.ts';
import { equalSecrets } from '../equal-secrets.ts';
import { createPayments } from '../payments.ts';
import type { Payment, Payments } from '../payments.ts';
import { losesRefundAnswer } from '../payer-outcomes.ts';
import { sendCallback } from '../send-callback.ts';
import type { SimulatedProtocol, SimulatedWallet, WalletContext } from '../simulated-wallet.ts';
import { addCheckoutPage } from './checkout-page.ts';
import { credentialsSchema, readCredentials } from './credentials.ts';
import type { TelebirrCredentials } from './credentials.ts';
import { birr, localTime, noticeStatus, orderContent, orderStatus, refundStatus } from './orders.ts';
import { outcomeOfNumber } from './outcomes.ts';
import { isSigned, signFields } from './signing.ts';
import type { Fields } from './signing.ts';

/** What a test can arm for the next fitting request. telebirr gets the payer's number too late to select these. */
const faults = [
  'preorder_lost',
  'preorder_not_received',
  'unavailable',
  'rate_limit',
  'refund_lost',
  'refund_not_enabled',
  'notification_as_form',
  'notification_as_field_name',
] as const;
type Fault = (typeof faults)[number];

/** telebirr's Fabric gateway, and the page on which the payer types a number. */
export const telebirr: SimulatedProtocol = {
  credentials: credentialsSchema,
  mount: async (scope, context) => mount(scope, context, readCredentials(context.credentials)),
};

/** An answer that ends a call. */
class FabricError extends Error {
  override readonly name = 'FabricError';
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

interface Telebirr {
  readonly context: WalletContext;
  readonly credentials: TelebirrCredentials;
  readonly payments: Payments;
  /** The times in milliseconds at which tokens expire. */
  readonly tokens: Map<string, number>;
  readonly takeFault: (fault: Fault) => boolean;
}

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

const signType = 'SHA256WithRSA';
const gateway = '/apiaccess/payment/gateway/payment/v1';

function addGateway(app: FastifyInstance, telebirr: Telebirr): void {
  const { context, credentials, payments, tokens, takeFault } = telebirr;
  app.setErrorHandler((error: unknown, request, reply): FastifyReply => {
    const known = error instanceof FabricError ? error : badRequest(error);
    if (known.status >= 500 && !(error instanceof FabricError)) {
      request.log.error({ err: error }, 'failed to answer');
    }
    const { status, code, message } = known;
    const body = { errorCode: code, errorMsg: message, errorSolution: 'See the documentation.' };
    return reply.code(status).send({ ...body, code, msg: message, result: 'FAIL' });
  });
  app.setNotFoundHandler(() => {
    throw new FabricError(404, '404', 'can not find api');
  });
  app.post<{ Body: { appSecret?: string } | undefined }>(`${gateway}/token`, (request) => {
    requireApp(request, credentials);
    if (!equalSecrets(request.body?.appSecret ?? '', credentials.appSecret)) {
      throw new FabricError(401, '60200001', 'The app secret is wrong');
    }
    const now = context.now();
    const token = `Bearer ${context.randomBytes(32).toString('hex')}`;
    const expires = new Date(now.getTime() + context.tokenLifetimeSeconds * 1_000);
    tokens.set(token, expires.getTime());
    const compact = (at: Date): string => localTime(at).replace(/[^0-9]/g, '');
    return { token, effectiveDate: compact(now), expirationDate: compact(expires) };
  });

  const call = (
    path: string,
    method: string | undefined,
    schema: TSchema,
    answer: (content: Fields, request: FastifyRequest, reply: FastifyReply) => object | Promise<object>,
  ): void => {
    app.post(`${gateway}${path}`, async (request, reply) => {
      if (takeFault('rate_limit')) {
        throw new FabricError(403, '49401021002', 'The request is rejected by quotaControl');
      }
      if (takeFault('unavailable')) throw unavailable;
      const content = readCall(telebirr, request, method, schema);
      const result = await answer(content, request, reply);
      return reply.sent ? reply : signedAnswer(telebirr, result);
    });
  };

  call('/merchant/preOrder', 'payment.preorder', preOrderContent, (content, request, reply) => {
    if (takeFault('preorder_not_received')) return hang(telebirr, request, reply);
    const payment = preOrder(telebirr, content);
    if (takeFault('preorder_lost')) return hang(telebirr, request, reply);
    return { merch_order_id: payment.requestId, prepay_id: payment.details['prepay_id'] };
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
    call(path, undefined, preOrderContent, createInAppOrder);
  }
  call('/merchant/queryOrder', 'payment.queryorder', orderContentSchema, (content) =>
    orderContent(findOrder(telebirr, content), payments),
  );
  call('/merchant/refund', 'payment.refund', refundContent, (content) => {
    if (takeFault('refund_not_enabled')) {
      throw new FabricError(299, '60320025', 'Failed to call the payment platform');
    }
    const isLost = takeFault('refund_lost');
    const answer = refund(telebirr, content);
    if (isLost) throw unavailable;
    return answer;
  });
}

const unavailable = new FabricError(500, '49401024991', 'southbound service unavailable');

/** Holds the connection and sends no answer. */
function hang({ context }: Telebirr, request: FastifyRequest, reply: FastifyReply): object {
  reply.hijack();
  const letGo = context.after(context.delaysMs.hang, () => request.raw.socket.destroy());
  request.raw.socket.once('close', letGo);
  return {};
}

function badRequest(error: unknown): FabricError {
  const status = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 500;
  return status >= 400 && status < 500
    ? new FabricError(status, '49401024995', 'parameter type mismatch [the body must be JSON]')
    : new FabricError(500, '49401024991', 'southbound service unavailable');
}

function requireApp(request: FastifyRequest, { fabricAppId }: TelebirrCredentials): void {
  const given = request.headers['x-app-key'];
  if (typeof given === 'string' && equalSecrets(given, fabricAppId)) return;
  throw new FabricError(401, '60200002', 'X-APP-Key is missing or unknown');
}

const orderIdPattern = '^[A-Za-z0-9]{1,64}$';
const amountPattern = '^[0-9]{1,12}([.][0-9]{1,2})?$';
const commonContent = { appid: Type.String(), merch_code: Type.String() };
const preOrderContent = Type.Object({
  ...commonContent,
  notify_url: Type.String({ maxLength: 512, pattern: '^https?://' }),
  redirect_url: Type.Optional(Type.String({ maxLength: 512 })),
  merch_order_id: Type.String({ pattern: orderIdPattern }),
  trade_type: Type.String({ minLength: 1 }),
  title: Type.String({ minLength: 1, maxLength: 512, pattern: '^[^~`!#$%^*()+=|/<>?;:"\\[\\]{}\\\\&]+$' }),
  total_amount: Type.String({ pattern: amountPattern }),
  trans_currency: Type.Literal('ETB'),
  timeout_express: Type.Optional(Type.String({ pattern: '^[0-9]{1,3}m$' })),
  business_type: Type.Optional(Type.String()),
  callback_info: Type.Optional(Type.String({ maxLength: 512 })),
});
/** Some clients query by prepay_id. */
const orderContentSchema = Type.Object({
  ...commonContent,
  merch_order_id: Type.Optional(Type.String({ pattern: orderIdPattern })),
  prepay_id: Type.Optional(Type.String()),
});
const refundContent = Type.Object({
  ...commonContent,
  merch_order_id: Type.String({ pattern: orderIdPattern }),
  refund_request_no: Type.String({ pattern: orderIdPattern }),
  actual_amount: Type.Optional(Type.String({ pattern: amountPattern })),
  refund_amount: Type.Optional(Type.String({ pattern: amountPattern })),
  trans_currency: Type.Optional(Type.Literal('ETB')),
});

/** Checks app, token, form and signature of a call, and returns its content. @throws FabricError */
function readCall(
  { context, credentials, tokens }: Telebirr,
  request: FastifyRequest,
  method: string | undefined,
  schema: TSchema,
): Fields {
  requireApp(request, credentials);
  const expires = tokens.get(request.headers.authorization ?? '') ?? 0;
  if (expires <= context.now().getTime())
    throw new FabricError(401, '401', 'The token is invalid or expired');
  const message = isFields(request.body) ? request.body : {};
  const content = isFields(message['biz_content']) ? message['biz_content'] : {};
  if (
    (method !== undefined && message['method'] !== method) ||
    !/^[0-9]{1,13}$/.test(String(message['timestamp']))
  ) {
    throw new FabricError(400, '49401024995', 'parameter type mismatch [method or timestamp]');
  }
  const wrong = Value.Errors(schema, content).First();
  if (wrong !== undefined) {
    throw new FabricError(
      400,
      '49401024995',
      `parameter type mismatch [${wrong.path.slice(1)}: ${wrong.message}]`,
    );
  }
  const isOurs =
    content['appid'] === credentials.merchantAppId && content['merch_code'] === credentials.merchantCode;
  if (!isOurs || !isSigned(message, credentials)) {
    throw new FabricError(500, '60200099', 'Verify the sign field failed');
  }
  return content;
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

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

/** The receipts of telebirr are ten letters and digits. */
const newReceipt = (randomBytes: (count: number) => Buffer): string =>
  randomBytes(8)
    .toString('base64url')
    .replace(/[^A-Za-z0-9]/g, '0')
    .toUpperCase()
    .slice(0, 10);

function preOrder({ context, payments }: Telebirr, content: Fields): Payment {
  const { randomBytes, now, delaysMs } = context;
  const requestId = String(content['merch_order_id']);
  // What telebirr does here is not documented. A refusal shows a client that repeats an order.
  if (payments.find('payment', requestId) !== undefined) {
    throw new FabricError(299, '60310003', 'merch_order_id is duplicated');
  }
  const timeout = textOf(content['timeout_express']) ?? '120m';
  const minutes = Math.min(120, Math.max(1, Number.parseInt(timeout, 10)));
  const timeScale = delaysMs.promptExpiry / standardDelaysMs.promptExpiry;
  const amount = parseAmount(String(content['total_amount']));
  if (amount <= 0n) throw new FabricError(400, '49401024995', 'parameter type mismatch [total_amount]');
  const { redirect_url: redirectUrl, callback_info: info } = content;
  const payment = payments.open({
    kind: 'payment',
    requestId,
    reference: newReceipt(randomBytes),
    payer: '',
    amount,
    currency: 'ETB',
    description: String(content['title']),
    channel: 'page',
    merchantReference: requestId,
    callbackUrl: String(content['notify_url']),
    details: {
      prepay_id: randomBytes(19).toString('hex'),
      payment_order_id: randomBytes(12).readBigUInt64BE().toString().slice(0, 18),
      timeout_express: timeout,
      ...(typeof redirectUrl === 'string' && redirectUrl !== '' ? { redirect_url: redirectUrl } : {}),
      ...(typeof info === 'string' ? { callback_info: info } : {}),
    },
    expiresAt: new Date(now().getTime() + minutes * 60_000 * timeScale),
    awaitsPerson: true,
  });
  payments.letTimePass(payment);
  return payment;
}

function findOrder({ payments }: Telebirr, content: Fields): Payment {
  const prepayId = textOf(content['prepay_id']);
  const found =
    payments.find('payment', textOf(content['merch_order_id']) ?? '') ??
    (prepayId === undefined ? undefined : payments.having('prepay_id', prepayId));
  if (found !== undefined) return found;
  throw new FabricError(299, '60330006', 'The order was not found.');
}

function refund(telebirr: Telebirr, content: Fields): object {
  const { context, payments } = telebirr;
  const original = findOrder(telebirr, content);
  const requestId = String(content['refund_request_no']);
  const answer = (payment: Payment, status: string): object => ({
    merch_code: content['merch_code'],
    merch_order_id: original.requestId,
    trans_order_id: String(original.details['payment_order_id']),
    refund_order_id: payment.reference,
    refund_amount: birr(payment.amount),
    refund_currency: payment.currency,
    refund_status: status,
    ...(payment.state.status === 'completed'
      ? { refund_time: String(payment.endedAt?.getTime() ?? '') }
      : {}),
  });
  const earlier = payments.find('refund', requestId);
  if (earlier !== undefined) return answer(earlier, 'REFUND_DUPLICATED');
  const amount = parseAmount(
    textOf(content['actual_amount']) ?? textOf(content['refund_amount']) ?? birr(original.amount),
  );
  const left = payments
    .refundsOf(original.requestId)
    .filter(({ state }) => state.status !== 'failed')
    .reduce((rest, { amount: taken }) => rest - taken, original.amount);
  if (original.state.status !== 'completed' || amount <= 0n || amount > left) {
    throw new FabricError(299, '60320025', 'Failed to call the payment platform');
  }
  const payment = payments.open({
    kind: 'refund',
    requestId,
    reference: newReceipt(context.randomBytes),
    original: original.requestId,
    payer: original.payer,
    amount,
    currency: original.currency,
    description: textOf(content['refund_reason']) ?? '',
    channel: 'page',
    merchantReference: requestId,
    details: {},
    expiresAt: new Date(context.now().getTime() + context.delaysMs.promptExpiry),
    awaitsPerson: false,
  });
  const { refund: course } = original.outcome;
  if (course === 'refused') {
    payments.end(payment, 'REFUND_FAILED');
    return answer(payment, refundStatus(payment));
  }
  payments.letTimePass(payment);
  if (losesRefundAnswer(original.outcome)) throw unavailable;
  return answer(payment, refundStatus(payment));
}
