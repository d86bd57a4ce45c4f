import { Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { receivedView } from './received-requests.ts';
import type { ReceivedRequests } from './received-requests.ts';
import { decisions } from './simulated-wallet.ts';
import type { SimulatedWallet } from './simulated-wallet.ts';

export interface AdminOptions {
  readonly wallets: readonly SimulatedWallet[];
  readonly received: ReceivedRequests;
}

const querystringOf = (wallets: readonly SimulatedWallet[]) =>
  Type.Object({
    wallet: Type.Optional(Type.Union(wallets.map(({ id }) => Type.Literal(id)))),
    payer: Type.Optional(Type.String({ pattern: '^[+ ]?[0-9]{8,15}$' })),
    status: Type.Optional(
      Type.Union([Type.Literal('open'), Type.Literal('completed'), Type.Literal('failed')]),
    ),
    correlation_id: Type.Optional(Type.String({ maxLength: 64 })),
  });

interface Filter {
  readonly wallet?: string;
  readonly payer?: string;
  readonly status?: string;
  readonly correlation_id?: string;
}

/** An unencoded plus in a query string arrives as a space. */
const payerOf = ({ payer }: Filter): string | undefined => payer?.replace(' ', '+');

/**
 * The admin API for tests and people: charges, prompts, requests, accounts, approving and declining. It is not part of
 * the wallet's contract and has no authentication.
 */
export function addAdminEndpoints(app: FastifyInstance, { wallets, received }: AdminOptions): void {
  const querystring = querystringOf(wallets);
  const chosen = ({ wallet }: Filter): readonly SimulatedWallet[] =>
    wallets.filter(({ id }) => wallet === undefined || id === wallet);
  const hasId = (id: string | undefined) => (record: { readonly correlation_id: string | null }) =>
    id === undefined || record.correlation_id?.toLowerCase() === id.toLowerCase();

  app.addHook('onRequest', refuseForeignPages);
  // The page's buttons send empty forms.
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    (_request, _body, done) => done(null, undefined),
  );
  app.get<{ Querystring: Filter }>('/charges', { schema: { querystring } }, ({ query }) => ({
    charges: chosen(query)
      .flatMap((wallet) => wallet.charges(payerOf(query)))
      .filter(hasId(query.correlation_id)),
  }));
  app.get<{ Querystring: Filter }>('/prompts', { schema: { querystring } }, ({ query }) => ({
    prompts: chosen(query)
      .flatMap((wallet) => wallet.prompts(payerOf(query)))
      .filter(hasId(query.correlation_id))
      .filter(({ status }) => query.status === undefined || status === query.status),
  }));
  app.get<{ Querystring: Filter }>('/requests', { schema: { querystring } }, ({ query }) => ({
    requests: received
      .list()
      .filter(({ wallet }) => query.wallet === undefined || wallet === query.wallet)
      .filter(({ correlationId }) => hasId(query.correlation_id)({ correlation_id: correlationId ?? null }))
      .map(receivedView),
  }));
  app.get<{ Querystring: Filter }>('/accounts', { schema: { querystring } }, ({ query }) => ({
    accounts: chosen(query).flatMap((wallet) => wallet.balances()),
  }));
  app.post<{ Querystring: { wallet: string; fault: string } }>(
    '/faults',
    { schema: { querystring: Type.Object({ wallet: Type.String(), fault: Type.String() }) } },
    (request, reply) => {
      const { wallet: id, fault } = request.query;
      const wallet = wallets.find((each) => each.id === id);
      if (wallet?.arm?.(fault) === true) return reply.code(204).send();
      return reply.code(404).send({ message: `The wallet ${id} has no fault ${fault}` });
    },
  );
  app.post('/tokens/expire', (_request, reply) => {
    for (const { expireTokens } of wallets) expireTokens();
    return reply.code(204).send();
  });
  for (const decision of decisions) {
    app.post<{ Params: { id: string } }>(`/prompts/:id/${decision}`, (request, reply) => {
      const { id } = request.params;
      for (const wallet of wallets) {
        const result = wallet.decide(id, decision);
        if (result === undefined) continue;
        if (result === 'not_open')
          return reply.code(409).send({ message: 'This prompt is not open any more' });
        const fromPage = request.headers.accept?.includes('text/html') === true;
        return fromPage
          ? reply.redirect('/', 303)
          : reply.send(wallet.prompts().find((prompt) => prompt.id === id));
      }
      return reply.code(404).send({ message: 'There is no such prompt' });
    });
  }
}

/** Other sites in the same browser must not be able to send the forms. */
async function refuseForeignPages(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { origin, host = '' } = request.headers;
  const own = origin === undefined || [`http://${host}`, `https://${host}`].includes(origin);
  if (!own) await reply.code(403).send({ message: 'Only the page of the simulator itself may send this' });
}
