import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { FastifyRequest } from 'fastify';
import { MerchantStatus } from '../../gen/gatehouse/v1/merchant_service_pb.js';
import { Environment, RefundStatus } from '../../gen/gatehouse/v1/order_pb.js';
import { ReportStep } from '../../gen/gatehouse/v1/report_service_pb.js';
import { mayOpenDeveloperPages, pageMerchantOf, pathIn, scopeOf } from '../access/page-context.ts';
import { loadPanel } from '../try-call.ts';
import type { Dashboard } from '../dashboard.ts';
import { webhookWords } from '../developers/add-webhooks.ts';
import { endpointState } from '../developers/delivery-words.ts';
import { awaitedRow } from '../developers/webhook-endpoint-views.ts';
import { latestAnswer } from '../developers/webhook-views.ts';
import { home as amharic } from '../language/amharic/home.ts';
import { webhookEndpoints as endpointsInAmharic } from '../language/amharic/webhook-endpoints.ts';
import { home as english } from '../language/english/home.ts';
import { webhookEndpoints as endpointsInEnglish } from '../language/english/webhook-endpoints.ts';
import { wordsFor } from '../language/words.ts';
import type { LocalDay } from '../local-time.ts';
import { orderWords } from '../payments/order-words.ts';
import { refundWords } from '../refunds/refund-writing.ts';
import { recoveryNotice } from './recovery-notice.ts';
import { reportView } from './report-views.ts';
import { numberFormat } from '../../platform/language/formats.ts';

/*
 * The parts of a merchant's first page. Each is loaded by itself, so that the page shows the others while core or `webhooks` is
 * unavailable.
 */

export const homeWords = { en: english, am: amharic };
export const webhookEndpointWords = { en: endpointsInEnglish, am: endpointsInAmharic };

const maxEndpoints = 5;
/** The limit of the count. Above it the exact number does not matter. */
const maxWaiting = 50;

/** Longer than the longest day. */
const dayMs = 26 * 3_600_000;

/** The numbers of a day by hour, or of several by day. */
export const reportPanel = (
  { clients, timeZone, now }: Dashboard,
  request: FastifyRequest,
  { from, to }: LocalDay,
) =>
  loadPanel(request, async (options) => {
    const { language } = request;
    const step = to.getTime() - from.getTime() < dayMs ? 'hour' : 'day';
    const report = await clients.reports.getOrderReport(
      {
        ...scopeOf(request),
        fromTime: timestampFromDate(from),
        toTime: timestampFromDate(to),
        timeZone,
        step: step === 'hour' ? ReportStep.HOUR : ReportStep.DAY,
      },
      options,
    );
    const words = wordsFor(request, homeWords);
    const view = reportView(report, step, now(), {
      words,
      orderWords: orderWords[language],
      wallets: request.wallets,
      language,
      timeZone,
    });
    return { ...view, title: words.chart.title[step] };
  });

/** A notice that the environment takes no payments, because the merchant is suspended or not activated for it. */
export const closedPanel = ({ clients }: Dashboard, request: FastifyRequest) =>
  loadPanel(request, async (options) => {
    const { merchantId, environment } = scopeOf(request);
    const { merchant } = await clients.merchants.getMerchant({ merchantId }, options);
    const { closed } = wordsFor(request, homeWords);
    if (merchant?.status === MerchantStatus.SUSPENDED) return { tone: 'warn', ...closed.suspended };
    const isClosed = environment === Environment.PRODUCTION && merchant?.productionActivated === false;
    return isClosed ? { tone: 'warn', ...closed.notActivated } : undefined;
  });

/** The hosts and webhook endpoints that are paused or whose circuit is open. */
export const inactiveEndpointsPanel = ({ clients }: Dashboard, request: FastifyRequest) =>
  loadPanel(request, async (options) => {
    const asked = { ...scopeOf(request), onlyInTrouble: true, includeWebhookEndpoints: true };
    const { endpoints } = await clients.webhooks.listEndpoints({ ...asked, pageSize: maxEndpoints }, options);
    const format = numberFormat(request.language);
    const words = wordsFor(request, homeWords).webhooks;
    const writing = { words: wordsFor(request, webhookWords), language: request.language };
    return endpoints.map((each) => ({
      endpoint: each.endpoint,
      state: endpointState(each.state, writing.words),
      waiting: words.waiting(format.format(each.pendingCount)),
      lastResult: each.lastResult === '' ? '' : words.latest(latestAnswer(each, writing).detail.text),
    }));
  });

/** The signing secrets that deliveries wait for. Only developers get the link. */
export const awaitedSecretsPanel = ({ clients }: Dashboard, request: FastifyRequest) =>
  loadPanel(request, async (options) => {
    const { awaitedSecrets } = await clients.webhookEndpoints.listWebhookEndpoints(scopeOf(request), options);
    const words = wordsFor(request, webhookEndpointWords);
    const path = pathIn(pageMerchantOf(request), 'webhooks');
    const { language } = request;
    return awaitedSecrets.map((each) => {
      const { text, href } = awaitedRow(each, words, { path, language });
      return mayOpenDeveloperPages(request) ? { text, href } : { text };
    });
  });

/** The number of refunds that wait for approval, in words; undefined when none waits. */
export const waitingRefundsPanel = ({ clients }: Dashboard, request: FastifyRequest) =>
  loadPanel(request, async (options) => {
    const asked = { ...scopeOf(request), statuses: [RefundStatus.AWAITING_APPROVAL], pageSize: maxWaiting };
    const { refunds, nextPageToken } = await clients.refunds.listRefunds(asked, options);
    const count = numberFormat(request.language).format(refunds.length);
    const { text } = wordsFor(request, refundWords).waiting;
    return refunds.length === 0 ? undefined : text(nextPageToken === '' ? count : `${count}+`);
  });

/** A notice that the gateway was restored, with the checks that the merchant has to make. */
export const recoveryPanel = ({ clients, timeZone, now }: Dashboard, request: FastifyRequest) =>
  loadPanel(request, async (options) => {
    const { recovery } = await clients.recoveries.getRecovery({}, options);
    const { recovery: words } = wordsFor(request, homeWords);
    return recoveryNotice(recovery, scopeOf(request), words, {
      now: now(),
      language: request.language,
      timeZone,
    });
  });

/** A new merchant's first steps, each done or not. */
export async function firstStepsPanel({ clients }: Dashboard, request: FastifyRequest) {
  const words = wordsFor(request, homeWords).steps;
  const [steps, secrets] = await Promise.all([
    loadPanel(request, (options) => clients.reports.getFirstSteps(scopeOf(request), options)),
    loadPanel(request, (options) => clients.webhooks.listSigningSecrets(scopeOf(request), options)),
  ]);
  if (!steps.isThere) return steps;
  const { firstKeyTime, firstOrderTime, firstCompletedHour } = steps.value;
  const forDevelopers = (path: string) => (mayOpenDeveloperPages(request) ? path : undefined);
  const value = [
    { text: words.key, href: forDevelopers('keys'), done: firstKeyTime !== undefined },
    { text: words.order, href: 'quick-start', done: firstOrderTime !== undefined },
    { text: words.completed, href: 'orders', done: firstCompletedHour !== undefined },
    // Omitted while it is unknown whether it is done.
    ...(secrets.isThere
      ? [
          {
            text: words.webhook,
            href: forDevelopers('webhooks/secrets'),
            done: secrets.value.signingSecrets.some(({ shown }) => shown),
          },
        ]
      : []),
  ];
  return { isThere: true as const, value };
}
