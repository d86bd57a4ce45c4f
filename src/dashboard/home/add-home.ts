import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { RefundStatus } from '../../gen/gatehouse/v1/order_pb.js';
import { ReportStep } from '../../gen/gatehouse/v1/report_service_pb.js';
import { pathIn, pageMerchantOf, scopeOf } from '../access/page-context.ts';
import { panel } from '../ask.ts';
import type { Dashboard } from '../dashboard.ts';
import { endpointState } from '../developers/delivery-words.ts';
import { awaitedRow } from '../developers/webhook-endpoint-views.ts';
import { webhookEndpoints as endpointsInAmharic } from '../language/amharic/webhook-endpoints.ts';
import { webhookEndpoints as endpointsInEnglish } from '../language/english/webhook-endpoints.ts';
import { webhooks as webhooksInAmharic } from '../language/amharic/webhooks.ts';
import { webhooks as webhooksInEnglish } from '../language/english/webhooks.ts';
import { refunds as refundsInAmharic } from '../language/amharic/refunds.ts';
import { refunds as refundsInEnglish } from '../language/english/refunds.ts';
import { home as amharic } from '../language/amharic/home.ts';
import { home as english } from '../language/english/home.ts';
import { wordsFor } from '../language/words.ts';
import { latestDays } from '../local-time.ts';
import { orderWords } from '../payments/order-words.ts';
import { isAtLeast } from '../access/viewer.ts';
import { recoveryNotice } from './recovery-notice.ts';
import { reportView } from './report-views.ts';

const refundWords = { en: refundsInEnglish, am: refundsInAmharic };
const dictionary = { en: english, am: amharic };
const webhookEndpointWords = { en: endpointsInEnglish, am: endpointsInAmharic };
const webhookWords = { en: webhooksInEnglish, am: webhooksInAmharic };

const spans = { today: 1, week: 7, month: 30 } as const;
type Span = keyof typeof spans;
const isSpan = (text: unknown): text is Span => typeof text === 'string' && Object.hasOwn(spans, text);

const maxEndpoints = 5;
/** The limit of the count. Above it the exact number does not matter. */
const maxWaiting = 50;

/** A merchant's first page: the numbers, problems, and next steps. */
export function addHome(app: FastifyInstance, dashboard: Dashboard): void {
  const { clients, sendPage, timeZone, now, assets } = dashboard;

  const reportOf = (request: FastifyRequest, span: Span) =>
    panel(request, async (options) => {
      const { language } = request;
      const { from, to } = latestDays(now(), spans[span], timeZone);
      const step = span === 'today' ? 'hour' : 'day';
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
      const words = wordsFor(request, dictionary);
      const view = reportView(report, step, now(), {
        words,
        orderWords: orderWords[language],
        wallets: request.wallets,
        language,
        timeZone,
      });
      return { ...view, title: words.chart.title[step] };
    });

  const troubleOf = (request: FastifyRequest) =>
    panel(request, async (options) => {
      const { endpoints } = await clients.webhooks.listEndpoints(
        {
          ...{ ...scopeOf(request), onlyInTrouble: true, includeWebhookEndpoints: true },
          pageSize: maxEndpoints,
        },
        options,
      );
      const format = new Intl.NumberFormat(request.language);
      const words = wordsFor(request, dictionary).webhooks;
      return endpoints.map(({ endpoint, state, pendingCount, lastResult }) => ({
        endpoint,
        state: endpointState(state, wordsFor(request, webhookWords)),
        waiting: words.waiting(format.format(pendingCount)),
        lastResult: lastResult === '' ? '' : words.latest(lastResult),
      }));
    });

  /** The signing secrets that deliveries wait for. Only developers get the link. */
  const awaitedOf = (request: FastifyRequest) =>
    panel(request, async (options) => {
      const { awaitedSecrets } = await clients.webhookEndpoints.listWebhookEndpoints(
        scopeOf(request),
        options,
      );
      const words = wordsFor(request, webhookEndpointWords);
      const path = pathIn(pageMerchantOf(request), 'webhooks');
      const { language } = request;
      return awaitedSecrets.map((each) => {
        const { text, href } = awaitedRow(each, words, { path, language });
        return mayDevelop(request) ? { text, href } : { text };
      });
    });

  /** The number of refunds that wait for approval, in words; undefined when none waits. */
  const waitingOf = (request: FastifyRequest) =>
    panel(request, async (options) => {
      const asked = {
        ...scopeOf(request),
        statuses: [RefundStatus.AWAITING_APPROVAL],
        pageSize: maxWaiting,
      };
      const { refunds, nextPageToken } = await clients.refunds.listRefunds(asked, options);
      const count = new Intl.NumberFormat(request.language).format(refunds.length);
      const { text } = wordsFor(request, refundWords).waiting;
      return refunds.length === 0 ? undefined : text(nextPageToken === '' ? count : `${count}+`);
    });

  const recoveryOf = (request: FastifyRequest) =>
    panel(request, async (options) => {
      const { recovery } = await clients.recoveries.getRecovery({}, options);
      const { recovery: words } = wordsFor(request, dictionary);
      const { language } = request;
      return recoveryNotice(recovery, scopeOf(request), words, {
        now: now(),
        language,
        timeZone,
      });
    });

  const mayDevelop = (request: FastifyRequest): boolean => {
    const { role } = pageMerchantOf(request);
    return role === 'operator' || isAtLeast(role, 'developer');
  };

  const stepsOf = async (request: FastifyRequest) => {
    const words = wordsFor(request, dictionary).steps;
    const [steps, secrets] = await Promise.all([
      panel(request, (options) => clients.reports.getFirstSteps(scopeOf(request), options)),
      panel(request, (options) => clients.webhooks.listSigningSecrets(scopeOf(request), options)),
    ]);
    if (!steps.isThere) return steps;
    const { firstKeyTime, firstOrderTime, firstCompletedHour } = steps.value;
    const forDevelopers = (path: string) => (mayDevelop(request) ? path : undefined);
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
  };

  app.get('/m/:merchantId/:environment', async (request, reply) => {
    const words = wordsFor(request, dictionary);
    const pageMerchant = pageMerchantOf(request);
    const asked = (request.query as Readonly<Record<string, unknown>>)['span'];
    const span: Span = isSpan(asked) ? asked : 'today';
    const [report, trouble, steps, waiting, awaited, recovery] = await Promise.all([
      reportOf(request, span),
      troubleOf(request),
      stepsOf(request),
      waitingOf(request),
      awaitedOf(request),
      recoveryOf(request),
    ]);
    const isOpen = steps.isThere && steps.value.some(({ done }) => !done);
    return sendPage(request, reply, {
      template: 'home/home',
      title: words.title,
      area: 'home',
      words,
      styles: [assets.chartStyle.path],
      scripts: [assets.chartLibrary.path, assets.chart.path],
      view: {
        path: pathIn(pageMerchant),
        spans: (Object.keys(spans) as Span[]).map((name) => ({
          href: `${pathIn(pageMerchant)}?span=${name}`,
          text: words.spans[name],
          current: name === span,
        })),
        recovery: recovery.isThere ? recovery.value : undefined,
        report,
        trouble,
        waiting,
        waitingWords: wordsFor(request, refundWords).waiting,
        awaited,
        awaitedWords: wordsFor(request, webhookEndpointWords),
        steps: isOpen || !steps.isThere ? steps : undefined,
        mayDevelop: mayDevelop(request),
      },
    });
  });
}
