import { Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isPublicId } from '../../contract/public-id.ts';
import { mayChange, pageMerchantOf, pathIn, scopeOf } from '../access/page-context.ts';
import { tryCall, callOptions, loadPanel } from '../try-call.ts';
import type { Dashboard } from '../dashboard.ts';
import { emptyForm, fieldOf, readForm } from '../forms/read-form.ts';
import type { FormState } from '../forms/read-form.ts';
import { requireSeen } from '../forms/require-seen.ts';
import { webhookEndpoints as endpointsInAmharic } from '../language/amharic/webhook-endpoints.ts';
import { webhookEndpoints as endpointsInEnglish } from '../language/english/webhook-endpoints.ts';
import { webhooks as amharic } from '../language/amharic/webhooks.ts';
import { webhooks as english } from '../language/english/webhooks.ts';
import { wordsFor } from '../language/words.ts';
import { notFound } from '../page-problem.ts';
import { shellWords } from '../send-page.ts';
import { flash } from '../session/sign-in-state.ts';
import { deliveryExplanation } from './delivery-explanation.ts';
import { readDeliveryFilter } from './delivery-filter.ts';
import { deliveryStates, endpointState } from './delivery-words.ts';
import { awaitedRow } from './webhook-endpoint-views.ts';
import { deliveryRow, deliveryStory, endpointRow } from './webhook-views.ts';
import type { Writing } from './webhook-views.ts';

export const webhookWords = { en: english, am: amharic };

const Test = Type.Object({ url: Type.String({ maxLength: 2048 }) });
const Pause = Type.Object({
  endpoint: Type.String({ maxLength: 2048 }),
  reason: Type.Optional(Type.String({ maxLength: 200 })),
});

const pageSize = 50;
const hostsPageSize = 100;
/** The largest page that `webhooks` lists. */
const maxPageSize = 500;

const path = '/m/:merchantId/:environment/webhooks';

/** The pages of a merchant's webhooks and endpoints. */
export function addWebhooks(app: FastifyInstance, dashboard: Dashboard): void {
  app.get(path, (request, reply) => showWebhooks(dashboard, request, reply));
  addTest(app, dashboard);
  addHostState(app, dashboard);
  addDelivery(app, dashboard);
}

const listPath = (request: FastifyRequest): string => pathIn(pageMerchantOf(request), 'webhooks');

const deliveryPath = (request: FastifyRequest, deliveryId: string): string =>
  `${listPath(request)}/deliveries/${deliveryId}`;

const writingOf = (request: FastifyRequest, { timeZone }: Dashboard): Writing => ({
  words: wordsFor(request, webhookWords),
  language: request.language,
  timeZone,
});

async function showWebhooks(
  dashboard: Dashboard,
  request: FastifyRequest,
  reply: FastifyReply,
  form: FormState = emptyForm(),
): Promise<FastifyReply> {
  const { webhooks, webhookEndpoints } = dashboard.clients;
  const writing = writingOf(request, dashboard);
  const { words } = writing;
  const filter = readDeliveryFilter(request.query);
  const endpointWords = wordsFor(request, { en: endpointsInEnglish, am: endpointsInAmharic });
  const self = listPath(request);
  const { hosts_page: given } = request.query as { readonly hosts_page?: unknown };
  const hostsPage = typeof given === 'string' ? given : '';
  const [awaited, endpoints, deliveries] = await Promise.all([
    loadPanel(request, async (options) => {
      const { awaitedSecrets } = await webhookEndpoints.listWebhookEndpoints(scopeOf(request), options);
      const { language } = request;
      return awaitedSecrets.map((each) => awaitedRow(each, endpointWords, { path: self, language }));
    }),
    loadPanel(request, async (options) => {
      const answer = await webhooks.listEndpoints(
        { ...scopeOf(request), pageSize: hostsPageSize, pageToken: hostsPage },
        options,
      );
      const next = new URLSearchParams({ hosts_page: answer.nextPageToken }).toString();
      return {
        rows: answer.endpoints.map((endpoint) => endpointRow(endpoint, writing)),
        next: answer.nextPageToken === '' ? undefined : `?${next}`,
      };
    }),
    loadPanel(request, async (options) => {
      if (!filter.isPossible) return { rows: [], older: undefined };
      const answer = await webhooks.listDeliveries(
        { ...scopeOf(request), ...filter.conditions, pageSize },
        options,
      );
      return {
        rows: answer.deliveries.map((delivery) => deliveryRow(delivery, writing)),
        older: filter.withPage(answer.nextPageToken),
      };
    }),
  ]);
  return dashboard.sendPage(request, reply, {
    template: 'developers/webhooks',
    title: words.title,
    area: 'webhooks',
    words: { ...words, endpointWords },
    self: request.method === 'POST' ? self : undefined,
    view: {
      path: self,
      tab: 'deliveries',
      awaited,
      endpoints,
      isLaterHostsPage: hostsPage !== '',
      deliveries,
      filter,
      states: Object.keys(deliveryStates).map((value) => ({
        value,
        text: words.deliveries.states[value as keyof typeof deliveryStates],
      })),
      form,
      mayChange: mayChange(request),
    },
  });
}

function addTest(app: FastifyInstance, dashboard: Dashboard): void {
  app.post(`${path}/test`, async (request, reply) => {
    const words = wordsFor(request, webhookWords);
    const form = readForm(Test, request.body, shellWords[request.language].forms);
    if (!form.ok) return showWebhooks(dashboard, request, reply.code(400), form);
    const answer = await tryCall(request, (options) =>
      dashboard.clients.webhooks.sendTestEvent({ ...scopeOf(request), url: form.value.url }, options),
    );
    if (!answer.ok) {
      const errors = { url: words.test.refused };
      return showWebhooks(dashboard, request, reply.code(400), { ...form, errors });
    }
    flash(request, { tone: 'good', text: words.test.sent });
    const { deliveryId = '' } = answer.value.delivery ?? {};
    return reply.redirect(deliveryPath(request, deliveryId), 303);
  });
}

function addHostState(app: FastifyInstance, dashboard: Dashboard): void {
  const { webhooks } = dashboard.clients;
  const requireState = async (request: FastifyRequest, endpoint: string): Promise<void> => {
    if (endpoint === '') throw notFound('ENDPOINT_NOT_FOUND');
    const scope = { ...scopeOf(request), endpoint, pageSize: maxPageSize };
    // A webhooks process of the previous version lists all endpoints.
    let pageToken = '';
    do {
      const answer = await webhooks.listEndpoints({ ...scope, pageToken }, callOptions(request));
      const found = answer.endpoints.find((candidate) => candidate.endpoint === endpoint);
      if (found !== undefined) {
        requireSeen(request.body, endpointState(found.state, english).name);
        return;
      }
      pageToken = answer.nextPageToken;
    } while (pageToken !== '');
    throw notFound('ENDPOINT_NOT_FOUND');
  };

  app.post(`${path}/hosts/pause`, async (request, reply) => {
    const words = wordsFor(request, webhookWords);
    const form = readForm(Pause, request.body, shellWords[request.language].forms);
    if (!form.ok) return showWebhooks(dashboard, request, reply.code(400));
    const { endpoint, reason = '' } = form.value;
    await requireState(request, endpoint);
    await webhooks.pauseEndpoint({ ...scopeOf(request), endpoint, reason }, callOptions(request));
    flash(request, { tone: 'good', text: words.endpoints.paused(endpoint) });
    return reply.redirect(listPath(request), 303);
  });

  app.post(`${path}/hosts/resume`, async (request, reply) => {
    const words = wordsFor(request, webhookWords);
    const endpoint = fieldOf(request.body, 'endpoint');
    await requireState(request, endpoint);
    await webhooks.resumeEndpoint({ ...scopeOf(request), endpoint }, callOptions(request));
    flash(request, { tone: 'good', text: words.endpoints.resumed(endpoint) });
    return reply.redirect(listPath(request), 303);
  });
}

function deliveryKeyOf(request: FastifyRequest) {
  const { deliveryId } = request.params as { readonly deliveryId: string };
  if (!isPublicId('whd', deliveryId)) throw notFound('DELIVERY_NOT_FOUND');
  return { merchantId: pageMerchantOf(request).merchantId, deliveryId };
}

/** A delivery of the page's environment. One of the other environment is not found. */
async function getDelivery(request: FastifyRequest, { clients }: Dashboard) {
  const answer = await clients.webhooks.getDelivery(deliveryKeyOf(request), callOptions(request));
  const { delivery } = answer;
  if (delivery?.environment !== scopeOf(request).environment) throw notFound('OTHER_ENVIRONMENT');
  return { ...answer, delivery };
}

function addDelivery(app: FastifyInstance, dashboard: Dashboard): void {
  const { clients, sendPage } = dashboard;
  const { webhooks } = clients;

  app.get(`${path}/deliveries/:deliveryId`, async (request, reply) => {
    const writing = writingOf(request, dashboard);
    const { words } = writing;
    const [story, reason] = await Promise.all([
      loadPanel(request, async () => deliveryStory(await getDelivery(request, dashboard), writing)),
      loadPanel(request, async (options) =>
        deliveryExplanation(await webhooks.explainDelivery(deliveryKeyOf(request), options), writing, {
          path: listPath(request),
          mayChange: mayChange(request),
        }),
      ),
    ]);
    return sendPage(request, reply, {
      template: 'developers/delivery',
      title: words.delivery.title,
      area: 'webhooks',
      words,
      view: {
        path: listPath(request),
        ordersPath: app.hasRoute({ method: 'GET', url: '/m/:merchantId/:environment/orders/:orderId' })
          ? pathIn(pageMerchantOf(request), 'orders')
          : undefined,
        id: deliveryKeyOf(request).deliveryId,
        story,
        reason,
        mayChange: mayChange(request),
      },
    });
  });

  app.post(`${path}/deliveries/:deliveryId/redeliver`, async (request, reply) => {
    await getDelivery(request, dashboard);
    const key = deliveryKeyOf(request);
    await webhooks.redeliverDelivery(key, callOptions(request));
    flash(request, { tone: 'good', text: wordsFor(request, webhookWords).delivery.redelivered });
    return reply.redirect(deliveryPath(request, key.deliveryId), 303);
  });
}
