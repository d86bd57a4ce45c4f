import { Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { pathIn, pageMerchantOf, scopeOf } from '../access/page-context.ts';
import { ask, callOptions, panel } from '../ask.ts';
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
import { isAtLeast } from '../access/viewer.ts';
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
const maxEndpoints = 100;

export const mayChangeWebhooks = (request: FastifyRequest): boolean => {
  const { role } = pageMerchantOf(request);
  return role !== 'operator' && isAtLeast(role, 'developer');
};

/** The pages of a merchant's webhooks and endpoints. */
export function addWebhooks(app: FastifyInstance, dashboard: Dashboard): void {
  const { clients, sendPage, timeZone } = dashboard;
  const { webhooks, webhookEndpoints } = clients;
  const path = '/m/:merchantId/:environment/webhooks';
  const writingOf = (request: FastifyRequest): Writing => ({
    words: wordsFor(request, webhookWords),
    language: request.language,
    timeZone,
  });

  const showWebhooks = async (
    request: FastifyRequest,
    reply: FastifyReply,
    { form = emptyForm(), status = 200 }: { form?: FormState; status?: number } = {},
  ): Promise<FastifyReply> => {
    const writing = writingOf(request);
    const { words } = writing;
    const filter = readDeliveryFilter(request.query);
    const own = wordsFor(request, { en: endpointsInEnglish, am: endpointsInAmharic });
    const self = pathIn(pageMerchantOf(request), 'webhooks');
    const [awaited, endpoints, deliveries] = await Promise.all([
      panel(request, async (options) => {
        const { awaitedSecrets } = await webhookEndpoints.listWebhookEndpoints(scopeOf(request), options);
        const { language } = request;
        return awaitedSecrets.map((each) => awaitedRow(each, own, { path: self, language }));
      }),
      panel(request, async (options) => {
        const answer = await webhooks.listEndpoints({ ...scopeOf(request), pageSize: maxEndpoints }, options);
        return answer.endpoints.map((endpoint) => endpointRow(endpoint, writing));
      }),
      panel(request, async (options) => {
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
    reply.code(status);
    return sendPage(request, reply, {
      template: 'developers/webhooks',
      title: words.title,
      area: 'webhooks',
      words: { ...words, own },
      self: request.method === 'POST' ? self : undefined,
      view: {
        path: self,
        tab: 'deliveries',
        awaited,
        endpoints,
        deliveries,
        filter,
        states: Object.keys(deliveryStates).map((value) => ({
          value,
          text: words.deliveries.states[value as keyof typeof deliveryStates],
        })),
        form,
        mayChange: mayChangeWebhooks(request),
      },
    });
  };

  app.get(path, (request, reply) => showWebhooks(request, reply));

  app.post(`${path}/test`, async (request, reply) => {
    const words = wordsFor(request, webhookWords);
    const form = readForm(Test, request.body, shellWords[request.language].forms);
    if (!form.ok) return showWebhooks(request, reply, { form, status: 400 });
    const answer = await ask(request, (options) =>
      webhooks.sendTestEvent({ ...scopeOf(request), url: form.value.url }, options),
    );
    if (!answer.ok) {
      const errors = { url: words.test.refused };
      return showWebhooks(request, reply, { form: { ...form, errors }, status: 400 });
    }
    flash(request, { tone: 'good', text: words.test.sent });
    const { deliveryId = '' } = answer.value.delivery ?? {};
    return reply.redirect(pathIn(pageMerchantOf(request), `webhooks/deliveries/${deliveryId}`), 303);
  });

  const requireState = async (request: FastifyRequest, endpoint: string): Promise<void> => {
    const { endpoints } = await webhooks.listEndpoints(
      { ...scopeOf(request), pageSize: maxEndpoints },
      callOptions(request),
    );
    const found = endpoints.find((candidate) => candidate.endpoint === endpoint);
    if (found === undefined) throw notFound('ENDPOINT_NOT_FOUND');
    requireSeen(request.body, endpointState(found.state, english).name);
  };

  app.post(`${path}/hosts/pause`, async (request, reply) => {
    const words = wordsFor(request, webhookWords);
    const form = readForm(Pause, request.body, shellWords[request.language].forms);
    if (!form.ok) return showWebhooks(request, reply, { status: 400 });
    const { endpoint, reason = '' } = form.value;
    await requireState(request, endpoint);
    await webhooks.pauseEndpoint({ ...scopeOf(request), endpoint, reason }, callOptions(request));
    flash(request, { tone: 'good', text: words.endpoints.paused(endpoint) });
    return reply.redirect(pathIn(pageMerchantOf(request), 'webhooks'), 303);
  });

  app.post(`${path}/hosts/resume`, async (request, reply) => {
    const words = wordsFor(request, webhookWords);
    const endpoint = fieldOf(request.body, 'endpoint');
    await requireState(request, endpoint);
    await webhooks.resumeEndpoint({ ...scopeOf(request), endpoint }, callOptions(request));
    flash(request, { tone: 'good', text: words.endpoints.resumed(endpoint) });
    return reply.redirect(pathIn(pageMerchantOf(request), 'webhooks'), 303);
  });

  const requestOf = (request: FastifyRequest) => ({
    merchantId: pageMerchantOf(request).merchantId,
    deliveryId: (request.params as { readonly deliveryId: string }).deliveryId,
  });
  /** A delivery of the page's environment. One of the other environment is not found. */
  const getDelivery = async (request: FastifyRequest) => {
    const answer = await webhooks.getDelivery(requestOf(request), callOptions(request));
    const { delivery } = answer;
    if (delivery?.environment !== scopeOf(request).environment) throw notFound('OTHER_ENVIRONMENT');
    return { ...answer, delivery };
  };

  app.get(`${path}/deliveries/:deliveryId`, async (request, reply) => {
    const writing = writingOf(request);
    const { words } = writing;
    const [story, reason] = await Promise.all([
      panel(request, async () => deliveryStory(await getDelivery(request), writing)),
      panel(request, async (options) =>
        deliveryExplanation(await webhooks.explainDelivery(requestOf(request), options), writing, {
          path: pathIn(pageMerchantOf(request), 'webhooks'),
          mayChange: mayChangeWebhooks(request),
        }),
      ),
    ]);
    return sendPage(request, reply, {
      template: 'developers/delivery',
      title: words.delivery.title,
      area: 'webhooks',
      words,
      view: {
        path: pathIn(pageMerchantOf(request), 'webhooks'),
        ordersPath: app.hasRoute({ method: 'GET', url: '/m/:merchantId/:environment/orders/:orderId' })
          ? pathIn(pageMerchantOf(request), 'orders')
          : undefined,
        id: requestOf(request).deliveryId,
        story,
        reason,
        mayChange: mayChangeWebhooks(request),
      },
    });
  });

  app.post(`${path}/deliveries/:deliveryId/redeliver`, async (request, reply) => {
    await getDelivery(request);
    await webhooks.redeliverDelivery(requestOf(request), callOptions(request));
    flash(request, { tone: 'good', text: wordsFor(request, webhookWords).delivery.redelivered });
    const { deliveryId } = requestOf(request);
    return reply.redirect(pathIn(pageMerchantOf(request), `webhooks/deliveries/${deliveryId}`), 303);
  });
}
