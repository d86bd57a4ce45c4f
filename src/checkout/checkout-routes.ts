import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { toString as qrCodeOf } from 'qrcode';
import { maskPhone } from '../platform/mask-sensitive.ts';
import type { WalletDirectory } from '../contract/wallet-directory.ts';
import type { AwaitedOutcomes } from './awaited-outcome.ts';
import type { CheckoutAccess } from './checkout-access.ts';
import { checkoutPage } from './checkout-pages.ts';
import type { CheckoutPage } from './page-parts.ts';
import { isCancellable, isFinal, stageOf, stageVersion } from './checkout-stage.ts';
import type { CheckoutStage } from './checkout-stage.ts';
import { PageProblem } from './page-problem.ts';
import type { PaymentLimit } from './payment-limit.ts';
import { missingCountryCode, readPaymentForm, refusalOf, refusedStatus } from './payment-form.ts';
import type { FormFailure, PaymentForm } from './payment-form.ts';
import { logFacts } from './request-log.ts';
import type { BrowserSecrets } from '../platform/http/browser-secret.ts';
import { networkOf } from '../platform/http/client-address.ts';
import { isFromOurPages } from '../platform/http/same-origin.ts';
import type { SendPage } from './send-page.ts';

/** The least error correction gives the largest modules, and a screen is neither torn nor stained. */
const qrCodeForm = { type: 'svg', margin: 2, errorCorrectionLevel: 'L' } as const;

export interface CheckoutRouteOptions {
  readonly checkouts: CheckoutAccess;
  readonly secrets: BrowserSecrets;
  readonly awaited: AwaitedOutcomes;
  readonly sendPage: SendPage;
  /** The path of a checkout's page as seen by browsers. */
  readonly pathOf: (token: string) => string;
  /** The configured wallets. */
  readonly directory: () => Promise<WalletDirectory>;
  /** The path of a logo's file as seen by browsers. */
  readonly logoPath: (file: string) => string;
  /** The public URL of this process, without a trailing slash. */
  readonly baseUrl: () => string;
  /** The time zone of receipts: an IANA name. */
  readonly timeZone: string;
  readonly paymentLimit: PaymentLimit;
}

/** The routes for the pages of a checkout, their forms and their script. A GET changes nothing in Gatehouse. */
export function addCheckoutRoutes(app: FastifyInstance, options: CheckoutRouteOptions): void {
  const { checkouts, secrets, awaited, pathOf, baseUrl, paymentLimit, directory } = options;
  const onlyOurForms = async (request: FastifyRequest): Promise<void> => {
    const hasCookie = secrets.of(request) !== '';
    if (!isFromOurPages(request.headers, new URL(baseUrl()).origin, hasCookie))
      throw new PageProblem('foreignForm', 'FOREIGN_FORM');
  };

  app.get('/c/:token', (request, reply) => showCheckout(request, reply, options, {}));

  app.get('/c/:token/status', async (request) => {
    const { checkout, order, nowMs } = await checkouts.getStatus(request, secrets.of(request));
    const stage = stageOf(checkout, order, nowMs);
    return { version: stageVersion(stage), cancellable: isCancellable(stage) };
  });

  app.get('/c/:token/action.svg', async (request, reply) => {
    const { checkout } = await checkouts.getStatus(request, secrets.of(request));
    const action = checkout.nextAction?.action;
    if (action?.case !== 'qrPayload') throw new PageProblem('unknownLink', 'NO_CODE');
    return reply.type('image/svg+xml').send(await qrCodeOf(action.value, qrCodeForm));
  });

  app.get<{ Params: { file: string } }>('/wallets/:file', async (request, reply) => {
    const { wallets: known, logoFile } = await directory();
    const wallet = known.find((each) => logoFile(each.wallet) === request.params.file);
    if (wallet === undefined) throw new PageProblem('unknownLink', 'NO_LOGO');
    // The name contains a hash of the content. The policy forbids what a logo opened by itself could load or run.
    return reply
      .header('cache-control', 'public, max-age=31536000, immutable')
      .header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'; sandbox")
      .type(wallet.logoMediaType)
      .send(wallet.logo);
  });

  app.get('/c/:token/qr.svg', async (request, reply) => {
    const address = `${baseUrl()}/c/${checkouts.tokenOf(request)}`;
    return reply.type('image/svg+xml').send(await qrCodeOf(address, qrCodeForm));
  });

  app.post('/c/:token', { onRequest: onlyOurForms }, async (request, reply) => {
    const token = checkouts.tokenOf(request);
    const form = readPaymentForm(request.body);
    const browserSecret = secrets.ensure(request, reply);
    logFacts(request, { phone: maskPhone(form.phone) });
    const failure = missingCountryCode(form, (await directory()).wallets);
    if (failure !== undefined) return showCheckout(request, reply, options, { failure, form, browserSecret });
    // Unknown links have their own limit. Their forms do not count, not even until core answers, because others in the network would wait.
    await checkouts.requireKnown(request, browserSecret);
    const customerNetwork = networkOf(request.ip);
    const counted = { token, browserSecret, network: customerNetwork };
    const exceeded = await paymentLimit.count({
      ...counted,
      isPayer: async () =>
        secrets.of(request) !== '' && (await checkouts.getStatus(request, browserSecret)).checkout.boundHere,
    });
    if (exceeded !== undefined) {
      const problem = exceeded.of === 'network' ? 'tooManyPaymentsOfNetwork' : 'tooManyPayments';
      throw new PageProblem(problem, 'CHECKOUT_PAYMENTS', { retryAfterSeconds: exceeded.waitSeconds });
    }
    const outcome = await checkouts.change(
      request,
      (client, call) =>
        client.submitCheckoutPayment({ token, browserSecret, customerNetwork, ...form }, call),
      () => paymentLimit.takeBack(counted),
    );
    if (outcome === 'done') {
      awaited.begin(reply, pathOf(token));
      return reply.redirect(pathOf(token), 303);
    }
    return showCheckout(request, reply, options, { failure: outcome, form, browserSecret });
  });

  app.post('/c/:token/cancel', { onRequest: onlyOurForms }, async (request, reply) => {
    const token = checkouts.tokenOf(request);
    const outcome = await checkouts.change(request, (client, call) =>
      client.cancelCheckout({ token, browserSecret: secrets.of(request) }, call),
    );
    if (outcome === 'done') {
      awaited.begin(reply, pathOf(token));
      return reply.redirect(pathOf(token), 303);
    }
    return showCheckout(request, reply, options, { failure: outcome });
  });
}

/** A refused request of the customer; empty when the page was only opened. */
interface Refused {
  readonly failure?: FormFailure;
  /** The refused form; absent after a refused cancellation. */
  readonly form?: PaymentForm;
  /** The browser secret of the form, if it was created in this request and is not in its cookies. */
  readonly browserSecret?: string;
}

/** Shows the current state of a checkout. If the page still shows the refused form, it includes the reason. */
async function showCheckout(
  request: FastifyRequest,
  reply: FastifyReply,
  options: CheckoutRouteOptions,
  { failure, form, browserSecret }: Refused,
): Promise<FastifyReply> {
  const { checkouts, secrets, awaited, sendPage, pathOf, logoPath, timeZone } = options;
  const self = pathOf(checkouts.tokenOf(request));
  const { language } = request;
  const open = await checkouts.get(request, browserSecret ?? secrets.of(request));
  const stage = stageOf(open.checkout, open.order, open.nowMs);
  logFacts(request, { stage: stage.name });
  // The page for the new stage needs no explanation. A redirect prevents that a reload sends the form again.
  if (failure !== undefined && !canShowRefusal(stage)) return reply.redirect(self, 303);
  // The secret is set before the form is sent, so that a double click counts as one browser.
  if (stage.name === 'pay') secrets.ensure(request, reply);
  const wallets = await options.directory();
  reply.code(stage.name === 'in_use' ? 409 : failure === undefined ? 200 : refusedStatus(failure));
  if (failure?.retryAfterSeconds !== undefined) reply.header('retry-after', failure.retryAfterSeconds);
  const page: CheckoutPage = {
    ...open,
    stage,
    language,
    self,
    timeZone,
    logoPath,
    wallets,
    stay: new URLSearchParams(request.url.split('?')[1]).has('stay'),
    isFirstSight: isFinal(stage) && awaited.take(request, reply, self),
    ...(failure === undefined
      ? {}
      : { refused: refusalOf(failure, form, { stage, language, wallets: wallets.wallets }) }),
  };
  return sendPage(request, reply, checkoutPage(page), self);
}

/** Whether the page of this stage can show the refusal: the form itself, or the payment that could not be cancelled or is under way. */
function canShowRefusal(stage: CheckoutStage): boolean {
  switch (stage.name) {
    case 'pay':
    case 'in_use':
    case 'confirm':
      return true;
    case 'not_returned':
    case 'expiring':
    case 'checking':
    case 'paid':
    case 'failed':
    case 'cancelled':
    case 'expired':
      return false;
  }
}
