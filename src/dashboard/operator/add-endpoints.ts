import type { FastifyInstance } from 'fastify';
import { EndpointState } from '../../gen/gatehouse/v1/webhook_service_pb.js';
import type { Endpoint } from '../../gen/gatehouse/v1/webhook_service_pb.js';
import { loadPanel } from '../try-call.ts';
import type { Dashboard } from '../dashboard.ts';
import { endpointState } from '../developers/delivery-words.ts';
import { latestAnswer, pauseWords } from '../developers/webhook-views.ts';
import { webhooks as webhooksInAmharic } from '../language/amharic/webhooks.ts';
import { webhooks as webhooksInEnglish } from '../language/english/webhooks.ts';
import { wordsFor } from '../language/words.ts';
import { momentOf } from '../moment-text.ts';
import { loadTab } from './environment-tab.ts';
import { merchantNames } from './merchant-names.ts';
import { environmentName, environmentTabs, numberText, writingFor } from './operator-writing.ts';
import { pageQuery, textIn } from '../page-query.ts';
import type { Writing } from './operator-writing.ts';

const path = '/operator/endpoints';
const pageSize = 50;
/** The limit of the count in webhooks. */
const maxPending = 10_000n;

/** The page on which operators see hosts and webhook endpoints of all merchants that get no webhooks. */
export function addEndpoints(app: FastifyInstance, { clients, sendPage, timeZone, now }: Dashboard): void {
  app.get(path, async (request, reply) => {
    const writing = writingFor(request, timeZone);
    const words = writing.words.endpoints;
    const pageToken = textIn(request.query, 'page');
    const { environment, shown } = await loadTab(
      request,
      ({ name, number }) =>
        loadPanel(request, async (options) => {
          const asked = {
            environment: number,
            onlyInTrouble: true,
            includeWebhookEndpoints: true,
            pageToken,
            pageSize,
          };
          const { endpoints, nextPageToken } = await clients.webhooks.listEndpoints(asked, options);
          const names = await merchantNames(request, clients, endpoints);
          const webhookWords = wordsFor(request, { en: webhooksInEnglish, am: webhooksInAmharic });
          return {
            rows: endpoints.map((endpoint) => {
              const merchantName = names.get(endpoint.merchantId) ?? endpoint.merchantId;
              // A merchant that core does not know has no pages.
              const hasPages = merchantName !== endpoint.merchantId;
              return { ...endpointRow(endpoint, writing, webhookWords, now()), merchantName, hasPages };
            }),
            next: pageQuery({ environment: name }, nextPageToken),
          };
        }),
      ({ rows }) => rows.length === 0,
    );
    return sendPage(request, reply, {
      template: 'operator/endpoints',
      title: words.title,
      area: 'operatorEndpoints',
      words: writing.words,
      view: {
        path,
        environment: environment.name,
        tabs: environmentTabs(path, environment.name, writing),
        isLaterPage: pageToken !== '',
        endpoints: shown,
      },
    });
  });
}

function endpointRow(
  endpoint: Endpoint,
  writing: Writing,
  webhookWords: typeof webhooksInEnglish,
  now: Date,
) {
  const { words, language, timeZone } = writing;
  const { merchantId, pendingCount, troubleTime } = endpoint;
  const count = numberText(pendingCount, writing);
  const { webhookEndpointId } = endpoint;
  const query = new URLSearchParams(
    webhookEndpointId === '' ? { endpoint: endpoint.endpoint } : { webhook_endpoint: webhookEndpointId },
  ).toString();
  return {
    endpoint: endpoint.endpoint,
    href: `/m/${merchantId}/${environmentName(endpoint.environment)}/webhooks?${query}`,
    merchantHref: `/operator/merchants/${merchantId}`,
    state: endpointState(endpoint.state, webhookWords),
    why: pauseWords(endpoint, webhookWords),
    since: momentOf(troubleTime, language, timeZone),
    last: latestAnswer(endpoint, { words: webhookWords, language }).text,
    status: endpoint.lastStatusCode === 0 ? '' : String(endpoint.lastStatusCode),
    waiting: pendingCount >= maxPending ? words.endpoints.many(count) : count,
    next: nextTry(endpoint, writing, now),
  };
}

/** When the endpoint gets the next webhook: a time, or the condition in words. */
function nextTry({ state, probeTime, pendingCount }: Endpoint, writing: Writing, now: Date) {
  const { words, language, timeZone } = writing;
  if (state === EndpointState.PAUSED) return { text: words.endpoints.whenResumed };
  if (pendingCount === 0n) return { text: words.endpoints.withNextDelivery };
  const time = momentOf(probeTime, language, timeZone);
  const isDue = probeTime === undefined || Number(probeTime.seconds) * 1000 <= now.getTime();
  return isDue || time === undefined ? { text: words.endpoints.now } : { time };
}
