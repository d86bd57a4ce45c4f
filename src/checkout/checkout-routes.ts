import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { renderSVG } from 'uqr';
import { maskPhone } from '../runtime/logger.ts';
import type { BrowserSecrets } from './browser-secret.ts';
import type { CheckoutAccess } from './checkout-access.ts';
import { checkoutPage } from './checkout-pages.ts';
import { stageOf, stageVersion } from './checkout-stage.ts';
import { PageProblem } from './page-problem.ts';
import { readPaymentForm, refusedForm, refusedStatus } from './payment-form.ts';
import type { PaymentForm } from './payment-form.ts';
import { logFacts } from './request-log.ts';
import type { CheckoutFailure } from './rpc-failure.ts';
import { isFromOurPages } from '../runtime/http/same-origin.ts';
import type { SendPage } from './send-page.ts';

export interface CheckoutRouteOptions {
  readonly checkouts: CheckoutAccess;
  readonly secrets: BrowserSecrets;
  readonly sendPage: SendPage;
  /** The path of a checkout's page, as browsers see it. */
  readonly pathOf: (token: string) => string;
  /** Where customers reach this process, without a slash at the end. */
  readonly baseUrl: () => string;
  readonly now: () => Date;
}

/** The pages of a checkout, what their forms send, and what their script asks. A GET changes nothing in Gatehouse. */
export function addCheckoutRoutes(app: FastifyInstance, options: CheckoutRouteOptions): void {
  const { checkouts, secrets, pathOf, baseUrl, now } = options;
  const onlyOurForms = async (request: FastifyRequest): Promise<void> => {
    const hasCookie = secrets.of(request) !== '';
    if (!isFromOurPages(request.headers, new URL(baseUrl()).origin, hasCookie))
      throw new PageProblem('foreignForm', 'FOREIGN_FORM');
  };

  app.get('/c/:token', (request, reply) => showCheckout(request, reply, options));

  app.get('/c/:token/status', async (request) => {
    const { checkout, order } = await checkouts.get(request, secrets.of(request));
    return { version: stageVersion(stageOf(checkout, order, now().getTime())) };
  });

  app.get('/c/:token/qr.svg', async (request, reply) => {
    const address = `${baseUrl()}/c/${checkouts.tokenOf(request)}`;
    return reply.type('image/svg+xml').send(renderSVG(address, { border: 2 }));
  });

  app.post('/c/:token', { onRequest: onlyOurForms }, async (request, reply) => {
    const token = checkouts.tokenOf(request);
    const form = readPaymentForm(request.body);
    const browserSecret = secrets.ensure(request, reply);
    logFacts(request, { phone: maskPhone(form.phone) });
    const outcome = await checkouts.change(request, (client, call) =>
      client.submitCheckoutPayment({ token, browserSecret, ...form }, call),
    );
    if (outcome === 'done' || outcome.kind === 'changed_meanwhile') return reply.redirect(pathOf(token), 303);
    return showAgain(request, reply, options, { form, failure: outcome, browserSecret });
  });

  app.post('/c/:token/cancel', { onRequest: onlyOurForms }, async (request, reply) => {
    const token = checkouts.tokenOf(request);
    await checkouts.change(request, (client, call) =>
      client.cancelCheckout({ token, browserSecret: secrets.of(request) }, call),
    );
    return reply.redirect(pathOf(token), 303);
  });
}

/** Shows a checkout as it is. */
async function showCheckout(
  request: FastifyRequest,
  reply: FastifyReply,
  { checkouts, secrets, sendPage, pathOf, now }: CheckoutRouteOptions,
): Promise<FastifyReply> {
  const self = pathOf(checkouts.tokenOf(request));
  const open = await checkouts.get(request, secrets.of(request));
  const nowMs = now().getTime();
  const stage = stageOf(open.checkout, open.order, nowMs);
  logFacts(request, { stage: stage.name });
  // Given out before the form is sent, so that two presses on its button come from one browser and not from two.
  if (stage.name === 'pay') secrets.ensure(request, reply);
  reply.code(stage.name === 'in_use' ? 409 : 200);
  const stay = new URLSearchParams(request.url.split('?')[1]).has('stay');
  const page = { ...open, stage, language: request.language, self, nowMs, stay };
  return sendPage(request, reply, checkoutPage(page), self);
}

/** A form that started nothing, and as whose it was sent. */
interface RefusedSubmission {
  readonly form: PaymentForm;
  readonly failure: CheckoutFailure;
  readonly browserSecret: string;
}

/** Shows the form as it was sent with what is wrong with it; or the checkout, when there is nothing to send any more. */
async function showAgain(
  request: FastifyRequest,
  reply: FastifyReply,
  { checkouts, sendPage, pathOf, now }: CheckoutRouteOptions,
  { form, failure, browserSecret }: RefusedSubmission,
): Promise<FastifyReply> {
  const self = pathOf(checkouts.tokenOf(request));
  const { language } = request;
  const open = await checkouts.get(request, browserSecret);
  const nowMs = now().getTime();
  const stage = stageOf(open.checkout, open.order, nowMs);
  logFacts(request, { stage: stage.name });
  reply.code(stage.name === 'in_use' ? 409 : refusedStatus(failure));
  if (failure.retryAfterSeconds !== undefined) reply.header('retry-after', failure.retryAfterSeconds);
  const sent = refusedForm(form, failure, language);
  return sendPage(
    request,
    reply,
    checkoutPage({ ...open, stage, language, self, nowMs, stay: false, sent }),
    self,
  );
}
