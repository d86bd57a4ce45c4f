import type { FastifyInstance } from 'fastify';
import { StrayPaymentStatus } from '../../gen/gatehouse/v1/stray_payment_service_pb.js';
import type { StrayPayment } from '../../gen/gatehouse/v1/stray_payment_service_pb.js';
import { noMerchantId } from '../../contract/public-id.ts';
import { tryCall, loadPanel } from '../try-call.ts';
import type { Dashboard } from '../dashboard.ts';
import { flash } from '../session/sign-in-state.ts';
import { home as homeInAmharic } from '../language/amharic/home.ts';
import { home as homeInEnglish } from '../language/english/home.ts';
import { wordsFor } from '../language/words.ts';
import { loadTab } from './environment-tab.ts';
import { merchantNames } from './merchant-names.ts';
import { environmentIn, environmentTabs, writingFor } from './operator-writing.ts';
import { pageQuery, textIn } from '../page-query.ts';
import { strayRow } from './stray-rows.ts';

const path = '/operator/stray-payments';
const pageSize = 50;

const states = {
  refused: StrayPaymentStatus.REVERSAL_REFUSED,
  due: StrayPaymentStatus.REVERSAL_DUE,
  reversed: StrayPaymentStatus.REVERSED,
} as const;

/** The page on which operators see stray payments and retry refused reversals. */
export function addStrayPayments(app: FastifyInstance, { clients, sendPage, timeZone }: Dashboard): void {
  app.get(path, async (request, reply) => {
    const writing = writingFor(request, timeZone);
    const words = writing.words.strays;
    const given = textIn(request.query, 'state');
    const state = Object.hasOwn(states, given) ? (given as keyof typeof states) : undefined;
    const pageToken = textIn(request.query, 'page');
    const { environment, shown: strays } = await loadTab(
      request,
      ({ name, number }) =>
        loadPanel(request, async (options) => {
          const statuses = state === undefined ? [] : [states[state]];
          const asked = { environment: number, statuses, pageToken, pageSize };
          const answer = await clients.strayPayments.listStrayPayments(asked, options);
          const names = await merchantNames(request, clients, answer.strayPayments);
          const { reasons } = wordsFor(request, { en: homeInEnglish, am: homeInAmharic }).failures;
          return {
            rows: answer.strayPayments.map((stray) => ({
              ...strayRow(stray, writing),
              ...refusalOf(stray, reasons),
              merchantName:
                stray.merchantId === noMerchantId
                  ? words.noMerchant
                  : (names.get(stray.merchantId) ?? stray.merchantId),
            })),
            older: pageQuery({ environment: name, state: state ?? '' }, answer.nextPageToken),
          };
        }),
      ({ rows }) => rows.length === 0,
    );
    return sendPage(request, reply, {
      template: 'operator/stray-payments',
      title: words.title,
      area: 'operatorStrayPayments',
      words: writing.words,
      view: {
        path,
        environment: environment.name,
        tabs: environmentTabs(path, environment.name, writing),
        state: state ?? '',
        states: Object.keys(states).map((value) => ({
          value,
          text: words.states[value as keyof typeof states],
        })),
        isLaterPage: pageToken !== '',
        strays,
      },
    });
  });

  app.post(`${path}/:merchantId/:strayPaymentId/retry`, async (request, reply) => {
    const words = writingFor(request, timeZone).words.strays.retry;
    const environment = environmentIn(request.body).name;
    const { merchantId, strayPaymentId } = request.params as { merchantId: string; strayPaymentId: string };
    const answer = await tryCall(request, (options) =>
      clients.strayPayments.retryReversal({ merchantId, strayPaymentId }, options),
    );
    flash(request, answer.ok ? { tone: 'good', text: words.done } : { tone: 'bad', text: words.notRefused });
    return reply.redirect(`${path}?environment=${environment}`, 303);
  });
}

/** The reason of a refusal in the user's language, and the wallet's own words. */
const refusalOf = (
  { refusalReason, detail }: StrayPayment,
  reasons: Readonly<Record<string, string>>,
): { readonly reason: string; readonly detail: string } => ({
  reason: Object.hasOwn(reasons, refusalReason) ? (reasons[refusalReason] ?? '') : refusalReason,
  detail,
});
