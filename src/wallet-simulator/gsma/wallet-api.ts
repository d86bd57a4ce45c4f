import type { FastifyInstance } from 'fastify';
import { addTokenEndpoint, createAccessTokens } from './access-tokens.ts';
import type { AccessTokens } from './access-tokens.ts';
import { addAccountEndpoints } from './account-endpoints.ts';
import type { Credentials } from './callbacks.ts';
import { readHashedJson, requireClient } from './client-checks.ts';
import { replyWithErrorObject } from './error-reply.ts';
import { addPaymentEndpoints } from './payment-endpoints.ts';
import type { PaymentEndpointOptions } from './payment-endpoints.ts';
import { refusedError } from './refusal.ts';
import { requestSchema } from './schemas.ts';

export interface WalletApiOptions extends PaymentEndpointOptions {
  readonly clients: readonly Credentials[];
  readonly tokenLifetimeSeconds: number;
  readonly randomBytes: (count: number) => Buffer;
}

/**
 * The GSMA Mobile Money API 1.2 for merchant payments, at the base path of the instance. Returns its access tokens, so
 * that a test can expire them.
 */
export async function addWalletApi(app: FastifyInstance, options: WalletApiOptions): Promise<AccessTokens> {
  const { wallet, clients, tokenLifetimeSeconds: lifetimeSeconds, now } = options;
  const tokens = createAccessTokens({ lifetimeSeconds, now, randomBytes: options.randomBytes });
  app.addHook('onRequest', async (_request, reply) => void reply.header('x-date', now().toISOString()));
  app.setErrorHandler(replyWithErrorObject(now));
  app.setNotFoundHandler(() => {
    throw refusedError('identification', 'identifierError', 'There is no such endpoint');
  });
  await app.register(async (scope) => addTokenEndpoint(scope, { clients, tokens, lifetimeSeconds }));
  await app.register(async (scope) => {
    requireClient(scope, { clients, tokens });
    readHashedJson(scope);
    scope.get('/heartbeat', { schema: requestSchema() }, () => ({ serviceStatus: 'available' }));
    addPaymentEndpoints(scope, options);
    addAccountEndpoints(scope, wallet);
  });
  return tokens;
}
