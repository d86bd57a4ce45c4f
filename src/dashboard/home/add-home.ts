import type { FastifyInstance } from 'fastify';
import { mayOpenDeveloperPages, pageMerchantOf, pathIn } from '../access/page-context.ts';
import type { Dashboard } from '../dashboard.ts';
import { wordsFor } from '../language/words.ts';
import { dayBefore, latestDays, monthBefore } from '../local-time.ts';
import { textIn } from '../page-query.ts';
import { refundWords } from '../refunds/refund-writing.ts';
import {
  awaitedSecretsPanel,
  closedPanel,
  firstStepsPanel,
  homeWords,
  inactiveEndpointsPanel,
  recoveryPanel,
  reportPanel,
  waitingRefundsPanel,
  webhookEndpointWords,
} from './home-panels.ts';

/** The days of the report, by the name in the URL. */
const spans = {
  today: (at: Date, timeZone: string) => latestDays(at, 1, timeZone),
  yesterday: dayBefore,
  week: (at: Date, timeZone: string) => latestDays(at, 7, timeZone),
  month: (at: Date, timeZone: string) => latestDays(at, 30, timeZone),
  last_month: monthBefore,
} as const;
type Span = keyof typeof spans;
const isSpan = (text: string): text is Span => Object.hasOwn(spans, text);

/** A merchant's first page: the numbers, problems, and next steps. */
export function addHome(app: FastifyInstance, dashboard: Dashboard): void {
  const { sendPage, assets, timeZone, now } = dashboard;

  app.get('/m/:merchantId/:environment', async (request, reply) => {
    const words = wordsFor(request, homeWords);
    const pageMerchant = pageMerchantOf(request);
    const asked = textIn(request.query, 'span');
    const span: Span = isSpan(asked) ? asked : 'today';
    const [report, closed, trouble, steps, waiting, awaited, recovery] = await Promise.all([
      reportPanel(dashboard, request, spans[span](now(), timeZone)),
      closedPanel(dashboard, request),
      inactiveEndpointsPanel(dashboard, request),
      firstStepsPanel(dashboard, request),
      waitingRefundsPanel(dashboard, request),
      awaitedSecretsPanel(dashboard, request),
      recoveryPanel(dashboard, request),
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
        notices: [closed, recovery].flatMap((each) => (each.isThere ? (each.value ?? []) : [])),
        report,
        trouble,
        waiting,
        waitingWords: wordsFor(request, refundWords).waiting,
        awaited,
        awaitedWords: wordsFor(request, webhookEndpointWords),
        steps: isOpen || !steps.isThere ? steps : undefined,
        mayDevelop: mayOpenDeveloperPages(request),
      },
    });
  });
}
