import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { FastifyInstance } from 'fastify';
import type { MtnCredentials } from './credentials.ts';
import { mtnError, readBody, readReferenceId, requireSubscription } from './gateway.ts';

const userBody = Type.Object({ providerCallbackHost: Type.String({ minLength: 1, maxLength: 253 }) });

/** The sandbox's provisioning of API users and their keys. In production the portal does it. */
export function addProvisioning(
  app: FastifyInstance,
  credentials: MtnCredentials,
  randomBytes: (count: number) => Buffer,
): void {
  const { users } = credentials;
  const find = (id: string) => {
    const user = users.get(id.toLowerCase());
    if (user === undefined) throw mtnError(404, 'RESOURCE_NOT_FOUND', 'Requested resource was not found.');
    return user;
  };
  app.addHook('onRequest', async (request) =>
    requireSubscription(request, credentials, ['collection', 'disbursement']),
  );
  app.post('/v1_0/apiuser', (request, reply) => {
    const id = readReferenceId(request);
    const body = readBody(request);
    if (!Value.Check(userBody, body)) {
      throw mtnError(400, 'VALIDATION_ERROR', 'providerCallbackHost is required');
    }
    if (users.has(id)) {
      throw mtnError(409, 'RESOURCE_ALREADY_EXIST', 'Duplicated reference id. Creation of resource failed.');
    }
    users.set(id, { callbackHost: hostOf(body.providerCallbackHost), apiKey: undefined });
    return reply.code(201).send();
  });
  app.post<{ Params: { id: string } }>('/v1_0/apiuser/:id/apikey', ({ params }, reply) => {
    const user = find(params.id);
    user.apiKey = randomBytes(16).toString('hex');
    return reply.code(201).send({ apiKey: user.apiKey });
  });
  app.get<{ Params: { id: string } }>('/v1_0/apiuser/:id', ({ params }) => ({
    providerCallbackHost: find(params.id).callbackHost ?? '',
    targetEnvironment: credentials.targetEnvironment,
  }));
}

/** Clients send a host, or a URL with it. */
const hostOf = (text: string): string =>
  URL.canParse(text) && text.includes('//') ? new URL(text).hostname : text;
