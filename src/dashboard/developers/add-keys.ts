import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiKeyScope } from '../../gen/gatehouse/v1/api_key_service_pb.js';
import { mayChange, pageMerchantOf, pathIn, scopeOf } from '../access/page-context.ts';
import { tryCall, callOptions, loadPanel } from '../try-call.ts';
import type { Dashboard } from '../dashboard.ts';
import { emptyForm, readForm } from '../forms/read-form.ts';
import type { FormState } from '../forms/read-form.ts';
import { keys as amharic } from '../language/amharic/keys.ts';
import { keys as english } from '../language/english/keys.ts';
import { wordsFor } from '../language/words.ts';
import { momentOf } from '../moment-text.ts';
import type { Moment } from '../moment-text.ts';
import { notFound } from '../page-problem.ts';
import { failureOfRpc } from '../rpc-failure.ts';
import { shellWords } from '../send-page.ts';
import { flash } from '../session/sign-in-state.ts';
import { keyRows } from './key-list.ts';

const dictionary = { en: english, am: amharic };

const hourMs = 60 * 60_000;
/** The choices for how long a replaced key stays valid. Core accepts 30 days at most. */
const overlapsMs = { hour: hourMs, day: 24 * hourMs, week: 7 * 24 * hourMs, month: 30 * 24 * hourMs };

const NewKey = Type.Object({
  label: Type.Optional(Type.String({ maxLength: 64 })),
  refunds: Type.Optional(Type.Literal('yes')),
});
const Refunds = Type.Object({ refunds: Type.Union([Type.Literal('yes'), Type.Literal('no')]) });
const Overlap = Type.Object({
  overlap: Type.Union([
    Type.Literal('hour'),
    Type.Literal('day'),
    Type.Literal('week'),
    Type.Literal('month'),
  ]),
});

const keyIdOf = ({ params }: FastifyRequest): string => (params as { readonly keyId: string }).keyId;

/** The pages to create, replace and revoke a merchant's API keys. */
export function addKeys(app: FastifyInstance, dashboard: Dashboard): void {
  const { clients, sendPage, timeZone, now } = dashboard;
  const path = '/m/:merchantId/:environment/keys';

  /** A key of the page's environment. One of the other environment is not found. */
  const requireKey = async (request: FastifyRequest) => {
    const { merchantId } = scopeOf(request);
    const { apiKeys } = await clients.apiKeys.listApiKeys(scopeOf(request), callOptions(request));
    const apiKeyId = keyIdOf(request);
    if (!apiKeys.some((key) => key.apiKeyId === apiKeyId)) throw notFound('API_KEY_NOT_FOUND');
    return { merchantId, apiKeyId };
  };

  const showKeys = async (
    request: FastifyRequest,
    reply: FastifyReply,
    { form = emptyForm(), status = 200 }: { form?: FormState; status?: number } = {},
  ): Promise<FastifyReply> => {
    const { language } = request;
    const words = wordsFor(request, dictionary);
    const pageMerchant = pageMerchantOf(request);
    const keys = await loadPanel(request, async (options) => {
      const { apiKeys } = await clients.apiKeys.listApiKeys(scopeOf(request), options);
      return { rows: keyRows(apiKeys, words, { language, timeZone, now: now() }) };
    });
    reply.code(status);
    return sendPage(request, reply, {
      template: 'developers/keys',
      title: words.title,
      area: 'keys',
      words,
      self: pathIn(pageMerchant, 'keys'),
      view: {
        keys,
        form,
        path: pathIn(pageMerchant, 'keys'),
        mayChange: mayChange(request),
        overlaps: Object.entries(words.rotate.overlaps),
      },
    });
  };

  const showMade = (
    request: FastifyRequest,
    reply: FastifyReply,
    secret: string,
    replacedUntil: Moment | undefined,
  ): FastifyReply => {
    const words = wordsFor(request, dictionary);
    const self = pathIn(pageMerchantOf(request), 'keys');
    return sendPage(request, reply, {
      template: 'developers/key-made',
      title: words.made.title,
      area: 'keys',
      words,
      self,
      view: { secret, path: self, replaced: replacedUntil && words.made.replaced(replacedUntil.text) },
    });
  };

  app.get(path, (request, reply) => showKeys(request, reply));

  app.post(path, async (request, reply) => {
    const words = wordsFor(request, dictionary);
    const form = readForm(NewKey, request.body, shellWords[request.language].forms);
    if (!form.ok) return showKeys(request, reply, { form, status: 400 });
    const label = form.value.label ?? '';
    const scopes = form.value.refunds === 'yes' ? [ApiKeyScope.REFUNDS] : [];
    const answer = await tryCall(request, (options) =>
      clients.apiKeys.issueApiKey({ ...scopeOf(request), label, scopes }, options),
    );
    if (answer.ok) return showMade(request, reply, answer.value.secret, undefined);
    const isFull = answer.refusal.reason === 'TOO_MANY_API_KEYS';
    const problem = isFull ? words.issue.tooMany : shellWords[request.language].forms.malformed;
    return showKeys(request, reply, {
      form: { ...form, errors: { label: problem } },
      status: isFull ? 409 : 400,
    });
  });

  app.post(`${path}/:keyId/rotate`, async (request, reply) => {
    const form = readForm(Overlap, request.body, shellWords[request.language].forms);
    if (!form.ok) return showKeys(request, reply, { status: 400 });
    const key = await requireKey(request);
    const rotation = { ...key, overlap: durationFromMs(overlapsMs[form.value.overlap]) };
    const rotated = await clients.apiKeys
      .rotateApiKey(rotation, callOptions(request))
      .catch((thrown: unknown) => {
        if (failureOfRpc(thrown)?.reason !== 'TOO_MANY_API_KEYS') throw thrown;
        return undefined;
      });
    if (rotated === undefined) {
      flash(request, { tone: 'warn', text: wordsFor(request, dictionary).rotate.tooMany });
      return reply.redirect(pathIn(pageMerchantOf(request), 'keys'), 303);
    }
    const { secret, replaced } = rotated;
    return showMade(request, reply, secret, momentOf(replaced?.expireTime, request.language, timeZone));
  });

  app.post(`${path}/:keyId/refunds`, async (request, reply) => {
    const words = wordsFor(request, dictionary);
    const form = readForm(Refunds, request.body, shellWords[request.language].forms);
    if (!form.ok) return showKeys(request, reply, { status: 400 });
    const isAllowed = form.value.refunds === 'yes';
    const { apiKey } = await clients.apiKeys.setApiKeyScopes(
      { ...(await requireKey(request)), scopes: isAllowed ? [ApiKeyScope.REFUNDS] : [] },
      callOptions(request),
    );
    const name = apiKey?.label || (apiKey?.prefix ?? '');
    flash(request, {
      tone: 'good',
      text: isAllowed ? words.refunds.allowed(name) : words.refunds.forbidden(name),
    });
    return reply.redirect(pathIn(pageMerchantOf(request), 'keys'), 303);
  });

  app.post(`${path}/:keyId/revoke`, async (request, reply) => {
    const words = wordsFor(request, dictionary);
    const key = await requireKey(request);
    const { apiKey } = await clients.apiKeys.revokeApiKey(key, callOptions(request));
    flash(request, { tone: 'good', text: words.revoke.done(apiKey?.label || (apiKey?.prefix ?? '')) });
    return reply.redirect(pathIn(pageMerchantOf(request), 'keys'), 303);
  });
}
