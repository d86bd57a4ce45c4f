import { Type } from '@sinclair/typebox';
import type { TSchema } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { FastifyRequest } from 'fastify';
import { equalSecrets } from '../equal-secrets.ts';
import type { TelebirrCredentials } from './credentials.ts';
import { FabricError } from './fabric-error.ts';
import { isSigned } from './signing.ts';
import type { Fields } from './signing.ts';
import type { Telebirr } from './telebirr-state.ts';

/** @throws FabricError */
export function requireApp(request: FastifyRequest, { fabricAppId }: TelebirrCredentials): void {
  const given = request.headers['x-app-key'];
  if (typeof given === 'string' && equalSecrets(given, fabricAppId)) return;
  throw new FabricError(401, '60200002', 'X-APP-Key is missing or unknown');
}

const orderIdPattern = '^[A-Za-z0-9]{1,64}$';
const amountPattern = '^[0-9]{1,12}([.][0-9]{1,2})?$';
const commonContent = { appid: Type.String(), merch_code: Type.String() };
export const preOrderContent = Type.Object({
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
export const orderContentSchema = Type.Object({
  ...commonContent,
  merch_order_id: Type.Optional(Type.String({ pattern: orderIdPattern })),
  prepay_id: Type.Optional(Type.String()),
});
export const refundContent = Type.Object({
  ...commonContent,
  merch_order_id: Type.String({ pattern: orderIdPattern }),
  refund_request_no: Type.String({ pattern: orderIdPattern }),
  actual_amount: Type.Optional(Type.String({ pattern: amountPattern })),
  refund_amount: Type.Optional(Type.String({ pattern: amountPattern })),
  trans_currency: Type.Optional(Type.Literal('ETB')),
});

/** Checks app, token, form and signature of a call, and returns its content. @throws FabricError */
export function readCall(
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

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
