import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { mayChange, pageMerchantOf, pathIn, scopeOf } from '../access/page-context.ts';
import { callOptions, loadPanel } from '../try-call.ts';
import type { Dashboard } from '../dashboard.ts';
import { readForm } from '../forms/read-form.ts';
import { requireSeen } from '../forms/require-seen.ts';
import { SigningSecretState } from '../../gen/gatehouse/v1/webhook_service_pb.js';
import type { SigningSecret } from '../../gen/gatehouse/v1/webhook_service_pb.js';
import { wordsFor } from '../language/words.ts';
import { momentOf } from '../moment-text.ts';
import { shellWords } from '../send-page.ts';
import { flash } from '../session/sign-in-state.ts';
import { webhookWords } from './add-webhooks.ts';

const dayMs = 24 * 60 * 60_000;
/** The choices for when a new secret becomes current. The process `webhooks` accepts 30 days at most. */
const waitsMs = { now: 0, day: dayMs, week: 7 * dayMs, month: 30 * dayMs };

const Rotation = Type.Object({
  after: Type.Union([Type.Literal('now'), Type.Literal('day'), Type.Literal('week'), Type.Literal('month')]),
});

/** The secrets as the page showed them. A form sends this text back, so that the dashboard detects a change that was made meanwhile. */
const seenOf = (secrets: readonly SigningSecret[]): string =>
  secrets.map(({ signingSecretId }) => signingSecretId).join(' ');

const isNext = ({ state }: SigningSecret): boolean => state === SigningSecretState.NEXT;

/** The pages to create and rotate a merchant's signing secrets. */
export function addWebhookSecrets(app: FastifyInstance, dashboard: Dashboard): void {
  const { clients, sendPage, timeZone } = dashboard;
  const { webhooks } = clients;
  const path = '/m/:merchantId/:environment/webhooks/secrets';
  const selfOf = (request: FastifyRequest): string => pathIn(pageMerchantOf(request), 'webhooks/secrets');
  const requireUnchanged = async (request: FastifyRequest): Promise<void> => {
    const { signingSecrets } = await webhooks.listSigningSecrets(scopeOf(request), callOptions(request));
    requireSeen(request.body, seenOf(signingSecrets));
  };

  const showSecrets = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const words = wordsFor(request, webhookWords);
    const at = (time: SigningSecret['createTime']) => momentOf(time, request.language, timeZone);
    const secrets = await loadPanel(request, async (options) => {
      const { signingSecrets } = await webhooks.listSigningSecrets(scopeOf(request), options);
      return {
        seen: seenOf(signingSecrets),
        hasNext: signingSecrets.some(isNext),
        isFirst: !signingSecrets.some(({ shown }) => shown),
        rows: signingSecrets.map((secret) => ({
          ending: secret.ending,
          state: words.secrets.states[isNext(secret) ? 'next' : 'current'],
          tone: isNext(secret) ? 'info' : 'good',
          note: secret.shown ? '' : words.secrets.unshown,
          created: at(secret.createTime),
          promoted: at(secret.promoteTime),
        })),
      };
    });
    return sendPage(request, reply, {
      template: 'developers/secrets',
      title: words.secrets.title,
      area: 'webhooks',
      words,
      self: selfOf(request),
      view: {
        path: pathIn(pageMerchantOf(request), 'webhooks'),
        tab: 'secrets',
        secrets,
        choices: Object.entries(words.secrets.rotate.choices),
        mayChange: mayChange(request),
      },
    });
  };

  app.get(path, showSecrets);

  app.post(`${path}/rotate`, async (request, reply) => {
    const form = readForm(Rotation, request.body, shellWords[request.language].forms);
    if (!form.ok) {
      reply.code(400);
      return showSecrets(request, reply);
    }
    await requireUnchanged(request);
    const { secret, signingSecret } = await webhooks.rotateSigningSecret(
      { ...scopeOf(request), promoteAfter: durationFromMs(waitsMs[form.value.after]) },
      callOptions(request),
    );
    const words = wordsFor(request, webhookWords);
    const promoted = momentOf(signingSecret?.promoteTime, request.language, timeZone);
    return sendPage(request, reply, {
      template: 'developers/secret-made',
      title: words.secrets.made.title,
      area: 'webhooks',
      words,
      self: selfOf(request),
      view: {
        secret,
        path: selfOf(request),
        when: promoted === undefined ? words.secrets.made.current : words.secrets.made.next(promoted.text),
      },
    });
  });

  app.post(`${path}/promote`, async (request, reply) => {
    await requireUnchanged(request);
    await webhooks.promoteSigningSecret(scopeOf(request), callOptions(request));
    flash(request, { tone: 'good', text: wordsFor(request, webhookWords).secrets.promote.done });
    return reply.redirect(selfOf(request), 303);
  });
}
