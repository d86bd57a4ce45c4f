import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isPublicId } from '../../contract/public-id.ts';
import { mayChange, pageMerchantOf, pathIn, scopeOf } from '../access/page-context.ts';
import { tryCall, callOptions, loadPanel } from '../try-call.ts';
import type { Dashboard } from '../dashboard.ts';
import { emptyForm, fieldsOf, readForm } from '../forms/read-form.ts';
import type { FormState } from '../forms/read-form.ts';
import { requireSeen } from '../forms/require-seen.ts';
import { EndpointState } from '../../gen/gatehouse/v1/webhook_service_pb.js';
import type { WebhookEndpoint } from '../../gen/gatehouse/v1/webhook_endpoint_service_pb.js';
import { webhookEndpoints as amharic } from '../language/amharic/webhook-endpoints.ts';
import { webhookEndpoints as english } from '../language/english/webhook-endpoints.ts';
import { wordsFor } from '../language/words.ts';
import { momentOf } from '../moment-text.ts';
import { PageProblem, notFound } from '../page-problem.ts';
import type { RpcFailure } from '../rpc-failure.ts';
import { shellWords } from '../send-page.ts';
import { flash } from '../session/sign-in-state.ts';
import { webhookWords } from './add-webhooks.ts';
import { eventTypes, isNext, secretRow, seenOf, webhookEndpointRow } from './webhook-endpoint-views.ts';
import type { EndpointWriting } from './webhook-endpoint-views.ts';

const webhookEndpointWords = { en: english, am: amharic };

const Settings = Type.Object({
  url: Type.String({ maxLength: 2048 }),
  description: Type.Optional(Type.String({ maxLength: 200 })),
});
const Pause = Type.Object({ reason: Type.Optional(Type.String({ maxLength: 200 })) });

const dayMs = 24 * 60 * 60_000;

const path = '/m/:merchantId/:environment/webhooks/endpoints';

/** The pages of a merchant's webhook endpoints. */
export function addWebhookEndpoints(app: FastifyInstance, dashboard: Dashboard): void {
  addList(app, dashboard);
  addSettings(app, dashboard);
  addState(app, dashboard);
  addSecrets(app, dashboard);
}

const listPath = (request: FastifyRequest): string => pathIn(pageMerchantOf(request), 'webhooks/endpoints');

function keyOf(request: FastifyRequest) {
  const { endpointId: webhookEndpointId } = request.params as { readonly endpointId: string };
  if (!isPublicId('whe', webhookEndpointId)) throw notFound('WEBHOOK_ENDPOINT_NOT_FOUND');
  return { merchantId: pageMerchantOf(request).merchantId, webhookEndpointId };
}

const pageOf = (request: FastifyRequest): string =>
  `${listPath(request)}/${keyOf(request).webhookEndpointId}`;

const writingOf = (request: FastifyRequest, { timeZone }: Dashboard): EndpointWriting => ({
  words: wordsFor(request, webhookWords),
  endpointWords: wordsFor(request, webhookEndpointWords),
  language: request.language,
  timeZone,
});

/** An endpoint of the page's environment. One of the other environment is not found. */
async function getEndpoint(request: FastifyRequest, { clients }: Dashboard): Promise<WebhookEndpoint> {
  const { webhookEndpoint: found } = await clients.webhookEndpoints.getWebhookEndpoint(
    keyOf(request),
    callOptions(request),
  );
  if (found?.environment !== scopeOf(request).environment) throw notFound('OTHER_ENVIRONMENT');
  return found;
}

/** The endpoint that a form changes, as the page showed it. */
async function seenEndpoint(request: FastifyRequest, dashboard: Dashboard): Promise<WebhookEndpoint> {
  const endpoint = await getEndpoint(request, dashboard);
  requireSeen(request.body, seenOf(endpoint));
  return endpoint;
}

/** The chosen types. If the endpoint receives every type, none is chosen in the form. */
const typesIn = (request: FastifyRequest): string[] =>
  fieldsOf(request.body)
    .filter(([name]) => name === 'type')
    .map(([, value]) => value);

const typeChoices = (chosen: readonly string[]) =>
  eventTypes.map((type) => ({ type, isChosen: chosen.includes(type) }));

function refusedForm(request: FastifyRequest, form: FormState, { reason, fields }: RpcFailure): FormState {
  const words = wordsFor(request, webhookEndpointWords);
  if (reason === 'WEBHOOK_ENDPOINT_EXISTS') return { ...form, errors: { url: words.urlTaken } };
  if (reason === 'TOO_MANY_WEBHOOK_ENDPOINTS') return { ...form, errors: { url: words.tooMany } };
  const { malformed } = shellWords[request.language].forms;
  const texts = { url: words.urlRefused, description: malformed };
  const refused = Object.entries(texts).filter(([name]) => fields.some(({ field }) => field === name));
  return { ...form, errors: refused.length > 0 ? Object.fromEntries(refused) : { url: words.urlRefused } };
}

async function redirectWithNotice(
  request: FastifyRequest,
  reply: FastifyReply,
  text: string,
): Promise<FastifyReply> {
  flash(request, { tone: 'good', text });
  return reply.redirect(pageOf(request), 303);
}

function addList(app: FastifyInstance, dashboard: Dashboard): void {
  app.get(path, (request, reply) => showList(dashboard, request, reply));

  app.post(path, async (request, reply) => {
    const words = wordsFor(request, webhookEndpointWords);
    const types = typesIn(request);
    const form = readForm(Settings, request.body, shellWords[request.language].forms);
    if (!form.ok) return showList(dashboard, request, reply.code(400), { form, types });
    const { url, description = '' } = form.value;
    const created = await tryCall(request, (options) =>
      dashboard.clients.webhookEndpoints.createWebhookEndpoint(
        { ...scopeOf(request), url, description, eventTypes: types },
        options,
      ),
    );
    if (!created.ok) {
      const refused = { form: refusedForm(request, form, created.refusal), types };
      return showList(dashboard, request, reply.code(400), refused);
    }
    const { webhookEndpoint, secret } = created.value;
    return showSecret(dashboard, request, reply, {
      secret,
      title: words.created,
      back: `${listPath(request)}/${webhookEndpoint?.webhookEndpointId ?? ''}`,
      when: words.secret.signsAll,
    });
  });
}

async function showList(
  dashboard: Dashboard,
  request: FastifyRequest,
  reply: FastifyReply,
  { form = emptyForm(), types = [] }: { form?: FormState; types?: readonly string[] } = {},
): Promise<FastifyReply> {
  const writing = writingOf(request, dashboard);
  const endpoints = await loadPanel(request, async (options) => {
    const { webhookEndpoints: listed } = await dashboard.clients.webhookEndpoints.listWebhookEndpoints(
      scopeOf(request),
      options,
    );
    return listed.map((endpoint) => webhookEndpointRow(endpoint, writing));
  });
  return dashboard.sendPage(request, reply, {
    template: 'developers/webhook-endpoints',
    title: writing.endpointWords.title,
    area: 'webhooks',
    words: { ...writing.words, own: writing.endpointWords },
    self: listPath(request),
    view: {
      path: pathIn(pageMerchantOf(request), 'webhooks'),
      tab: 'endpoints',
      endpoints,
      form,
      types: typeChoices(types),
      mayChange: mayChange(request),
    },
  });
}

function addSettings(app: FastifyInstance, dashboard: Dashboard): void {
  app.get(`${path}/:endpointId`, (request, reply) => showEndpoint(dashboard, request, reply));

  app.post(`${path}/:endpointId`, async (request, reply) => {
    const words = wordsFor(request, webhookEndpointWords);
    const types = typesIn(request);
    await seenEndpoint(request, dashboard);
    const form = readForm(Settings, request.body, shellWords[request.language].forms);
    if (!form.ok) return showEndpoint(dashboard, request, reply.code(400), { form, types });
    const { url, description = '' } = form.value;
    const updated = await tryCall(request, (options) =>
      dashboard.clients.webhookEndpoints.updateWebhookEndpoint(
        { ...keyOf(request), url, description, types: { eventTypes: types } },
        options,
      ),
    );
    if (updated.ok) return redirectWithNotice(request, reply, words.updated);
    const refused = { form: refusedForm(request, form, updated.refusal), types };
    return showEndpoint(dashboard, request, reply.code(400), refused);
  });
}

async function showEndpoint(
  dashboard: Dashboard,
  request: FastifyRequest,
  reply: FastifyReply,
  given?: { readonly form: FormState; readonly types: readonly string[] },
): Promise<FastifyReply> {
  const writing = writingOf(request, dashboard);
  const endpoint = await loadPanel(request, async () => {
    const found = await getEndpoint(request, dashboard);
    return {
      ...webhookEndpointRow(found, writing),
      seen: seenOf(found),
      isPaused: found.status?.state === EndpointState.PAUSED,
      isOpen: found.status?.state === EndpointState.OPEN,
      secrets: found.signingSecrets.map((secret) => secretRow(secret, writing)),
      hasNext: found.signingSecrets.some(isNext),
      form: given?.form ?? emptyForm({ url: found.url, description: found.description }),
      choices: typeChoices(given?.types ?? found.eventTypes),
    };
  });
  return dashboard.sendPage(request, reply, {
    template: 'developers/webhook-endpoint',
    title: writing.endpointWords.one,
    area: 'webhooks',
    words: { ...writing.words, own: writing.endpointWords },
    self: pageOf(request),
    view: {
      path: pathIn(pageMerchantOf(request), 'webhooks'),
      self: pageOf(request),
      endpoint,
      mayChange: mayChange(request),
    },
  });
}

/** Pauses, resumes, tests and deletes an endpoint. */
function addState(app: FastifyInstance, dashboard: Dashboard): void {
  const { webhookEndpoints } = dashboard.clients;

  app.post(`${path}/:endpointId/pause`, async (request, reply) => {
    const form = readForm(Pause, request.body, shellWords[request.language].forms);
    if (!form.ok) throw new PageProblem('badRequest', 'REASON_TOO_LONG');
    await seenEndpoint(request, dashboard);
    const { reason = '' } = form.value;
    await webhookEndpoints.pauseWebhookEndpoint({ ...keyOf(request), reason }, callOptions(request));
    return redirectWithNotice(request, reply, wordsFor(request, webhookEndpointWords).paused);
  });

  app.post(`${path}/:endpointId/resume`, async (request, reply) => {
    await seenEndpoint(request, dashboard);
    await webhookEndpoints.resumeWebhookEndpoint(keyOf(request), callOptions(request));
    return redirectWithNotice(request, reply, wordsFor(request, webhookEndpointWords).resumed);
  });

  app.post(`${path}/:endpointId/test`, async (request, reply) => {
    await getEndpoint(request, dashboard);
    const { delivery } = await webhookEndpoints.testWebhookEndpoint(keyOf(request), callOptions(request));
    flash(request, { tone: 'good', text: wordsFor(request, webhookWords).test.sent });
    const { deliveryId = '' } = delivery ?? {};
    return reply.redirect(pathIn(pageMerchantOf(request), `webhooks/deliveries/${deliveryId}`), 303);
  });

  app.post(`${path}/:endpointId/delete`, async (request, reply) => {
    const { url } = await seenEndpoint(request, dashboard);
    await webhookEndpoints.deleteWebhookEndpoint(keyOf(request), callOptions(request));
    flash(request, { tone: 'good', text: wordsFor(request, webhookEndpointWords).deleted(url) });
    return reply.redirect(listPath(request), 303);
  });
}

function addSecrets(app: FastifyInstance, dashboard: Dashboard): void {
  const { webhookEndpoints } = dashboard.clients;

  app.post(`${path}/:endpointId/rotate-secret`, async (request, reply) => {
    await seenEndpoint(request, dashboard);
    const { secret, signingSecret } = await webhookEndpoints.rotateWebhookEndpointSecret(
      { ...keyOf(request), promoteAfter: durationFromMs(dayMs) },
      callOptions(request),
    );
    const promoted = momentOf(signingSecret?.promoteTime, request.language, dashboard.timeZone);
    const { made } = wordsFor(request, webhookWords).secrets;
    return showSecret(dashboard, request, reply, {
      secret,
      title: made.title,
      back: pageOf(request),
      when:
        promoted === undefined
          ? wordsFor(request, webhookEndpointWords).secret.signsAll
          : made.next(promoted.text),
    });
  });

  app.post(`${path}/:endpointId/promote-secret`, async (request, reply) => {
    await seenEndpoint(request, dashboard);
    await webhookEndpoints.promoteWebhookEndpointSecret(keyOf(request), callOptions(request));
    return redirectWithNotice(request, reply, wordsFor(request, webhookWords).secrets.promote.done);
  });
}

interface ShownSecret {
  readonly secret: string;
  readonly title: string;
  /** The page behind the button. */
  readonly back: string;
  /** When the secret signs. */
  readonly when: string;
}

async function showSecret(
  { sendPage }: Dashboard,
  request: FastifyRequest,
  reply: FastifyReply,
  { secret, title, back, when }: ShownSecret,
): Promise<FastifyReply> {
  const words = wordsFor(request, webhookWords);
  return sendPage(request, reply, {
    template: 'developers/secret-made',
    title,
    area: 'webhooks',
    words: { ...words, secrets: { ...words.secrets, made: { ...words.secrets.made, title } } },
    self: back,
    view: { secret, path: back, when },
  });
}
