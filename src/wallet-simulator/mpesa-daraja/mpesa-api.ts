import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { SimulatedWallet, WalletContext } from '../simulated-wallet.ts';
import { certificateOf } from './certificate.ts';
import { addInitiatorEndpoints } from './initiator-endpoints.ts';
import { parseBody } from './mpesa-body.ts';
import { readMpesaCredentials } from './mpesa-credentials.ts';
import type { MpesaDialect } from './mpesa-dialect.ts';
import { MpesaRefusal, errorBody, invalidToken } from './mpesa-reply.ts';
import { createMpesaShop } from './mpesa-shop.ts';
import { addPayerStartedEndpoints } from './payer-started-endpoints.ts';
import { addPushEndpoints } from './push-endpoints.ts';

/** Whether a request registers URLs, and names the consumer key in its query. */
function isRegistration(url: string, key: string): boolean {
  const { pathname, searchParams } = new URL(url, 'http://simulator.example');
  return pathname.endsWith('/register') && searchParams.get('apikey') === key;
}

/** Whether Fastify refused the request, for example because its body is too large. */
const isClientsFault = (error: unknown): boolean =>
  error instanceof Error && 'statusCode' in error && Number(error.statusCode) < 500;

/**
 * Adds the API of M-Pesa in one country to `scope`. `GET certificate.cer` offers the certificate, which the provider's portal
 * offers for download.
 */
export async function mountMpesa(
  scope: FastifyInstance,
  context: WalletContext,
  dialect: MpesaDialect,
): Promise<SimulatedWallet> {
  const credentials = readMpesaCredentials(context.credentials);
  const shop = createMpesaShop(context, dialect, credentials);
  const { now } = context;
  /** A new token ends the previous one. */
  let current: { readonly token: string; readonly endsAt: number } | undefined;

  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => {
    try {
      done(null, parseBody(String(body)));
    } catch (error) {
      done(error instanceof Error ? error : new Error(String(error)));
    }
  });
  const send = (reply: FastifyReply, status: number, code: string, text: string): FastifyReply =>
    reply.code(status).send(errorBody(shop.newId(''), code, text));
  scope.setErrorHandler((error, request, reply) => {
    if (error instanceof MpesaRefusal) return send(reply, error.status, error.errorCode, error.message);
    if (isClientsFault(error)) return send(reply, 400, '400.002.05', 'Invalid Request Payload');
    request.log.error({ err: error }, 'the simulator could not answer a request');
    return send(reply, 500, '500.003.1001', 'Internal Server Error');
  });
  scope.setNotFoundHandler((_request, reply) => send(reply, 404, '404.001.01', 'Resource not found'));

  scope.get('/certificate.cer', (_request, reply) =>
    reply.type('application/x-pem-file').send(certificateOf(credentials.security_key)),
  );

  scope.get<{ Querystring: { grant_type?: string } }>(dialect.tokenPath, (request, reply) => {
    const basic = /^Basic ([A-Za-z0-9+/=_-]+)$/i.exec(request.headers.authorization ?? '')?.[1];
    if (basic === undefined) {
      return send(reply, 400, '400.008.01', 'Invalid Authentication passed');
    }
    if (request.query.grant_type !== 'client_credentials') {
      return send(reply, 400, '400.008.02', 'Invalid grant type passed');
    }
    const expected = `${credentials.consumer_key}:${credentials.consumer_secret}`;
    if (Buffer.from(basic, 'base64').toString() !== expected) {
      return reply.code(dialect.wrongClient.status).send(dialect.wrongClient.body);
    }
    const token = context.randomBytes(21).toString('base64url');
    current = { token, endsAt: now().getTime() + context.tokenLifetimeSeconds * 1_000 };
    return {
      access_token: token,
      ...(dialect.tokenType ? { token_type: 'Bearer' } : {}),
      expires_in: String(context.tokenLifetimeSeconds),
    };
  });

  await scope.register(async (api) => {
    api.addHook('onRequest', async (request: FastifyRequest) => {
      if (dialect.registersByKey && isRegistration(request.url, credentials.consumer_key)) return;
      const given = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
      if (given === undefined || given !== current?.token || current.endsAt <= now().getTime()) {
        throw invalidToken();
      }
    });
    addPushEndpoints(api, shop);
    addInitiatorEndpoints(api, shop);
    addPayerStartedEndpoints(api, shop);
  });

  const { payments } = shop;
  return {
    id: context.id,
    prompts: payments.prompts,
    charges: payments.charges,
    balances: payments.balances,
    decide: payments.decide,
    expireTokens: () => {
      current = undefined;
    },
    close: payments.close,
  };
}
