import type { FastifyInstance } from 'fastify';
import { WalletBreakerState, WalletHealth } from '../../gen/gatehouse/v1/wallet_status_service_pb.js';
import type { ReportedWalletStatus, WalletStatus } from '../../gen/gatehouse/v1/wallet_status_service_pb.js';
import { StrayPaymentStatus } from '../../gen/gatehouse/v1/stray_payment_service_pb.js';
import { loadPanel } from '../try-call.ts';
import type { Dashboard } from '../dashboard.ts';
import { checkRows } from './check-rows.ts';
import { wordsFor } from '../language/words.ts';
import { settlementWords } from './settlement-views.ts';
import { environmentName, numberText, walletName, writingFor } from './operator-writing.ts';
import type { Writing } from './operator-writing.ts';

/** The limit of counts. Above it the exact number does not matter. */
const maxStrays = 500;

/** The page with the checks, wallets and money that need the attention of operators. */
export function addOverview(app: FastifyInstance, { clients, sendPage, timeZone }: Dashboard): void {
  app.get('/operator', async (request, reply) => {
    const writing = writingFor(request, timeZone);
    const { overview } = writing.words;
    const { tile } = wordsFor(request, settlementWords);
    const [checks, wallets, strays, unsettled, webhooks] = await Promise.all([
      loadPanel(request, async (options) =>
        checkRows((await clients.diagnostics.diagnose({}, options)).checks, writing),
      ),
      loadPanel(request, async (options) =>
        walletsTile((await clients.walletStatuses.listWalletStatuses({}, options)).statuses, writing),
      ),
      loadPanel(request, async (options) => {
        const statuses = [StrayPaymentStatus.REVERSAL_REFUSED];
        const asked = { statuses, pageSize: maxStrays };
        const { strayPayments, nextPageToken } = await clients.strayPayments.listStrayPayments(
          asked,
          options,
        );
        const count = `${numberText(strayPayments.length, writing)}${nextPageToken === '' ? '' : '+'}`;
        return strayPayments.length === 0
          ? { isGood: true, text: overview.straysNone }
          : { isGood: false, text: overview.straysSome(count) };
      }),
      loadPanel(request, async (options) => {
        const { totalCount } = await clients.settlements.listUnsettled({ pageSize: 1 }, options);
        return totalCount === 0n
          ? { isGood: true, text: tile.none }
          : { isGood: false, text: tile.some(numberText(totalCount, writing)) };
      }),
      loadPanel(request, async (options) => {
        const { dueCount, restingEndpoints } = await clients.webhooks.getPipelineStatus({}, options);
        return dueCount === 0n && restingEndpoints === 0n
          ? { isGood: true, hasOpenCircuits: false, text: overview.webhooksGood }
          : {
              isGood: false,
              hasOpenCircuits: restingEndpoints > 0n,
              text: overview.webhooksBehind(
                numberText(dueCount, writing),
                numberText(restingEndpoints, writing),
              ),
            };
      }),
    ]);
    return sendPage(request, reply, {
      template: 'operator/overview',
      title: overview.title,
      area: 'operator',
      words: writing.words,
      view: {
        checks,
        tiles: [
          { label: overview.wallets, href: '/operator/wallets', panel: wallets },
          { label: overview.strays, href: '/operator/stray-payments', panel: strays },
          { label: tile.label, href: '/operator/settlements', panel: unsettled },
          {
            label: overview.webhooks,
            href:
              webhooks.isThere && webhooks.value.hasOpenCircuits
                ? '/operator/endpoints'
                : '/operator/pipeline',
            panel: webhooks,
          },
        ],
      },
    });
  });
}

function walletsTile(statuses: readonly ReportedWalletStatus[], writing: Writing) {
  const { overview, environments } = writing.words;
  if (statuses.length === 0) return { isGood: false, text: overview.walletsNone };
  // An exited process leaves its last report. It counts until another process reports.
  const byWallet = Map.groupBy(statuses, ({ status }) => `${status?.wallet} ${status?.environment}`);
  const latest = [...byWallet.values()].flatMap((reports) => {
    const fresh = reports.filter(({ stale }) => !stale);
    return fresh.length > 0 ? fresh : reports;
  });
  const namesOf = (of: readonly ReportedWalletStatus[]): string =>
    [
      ...new Set(
        of.map(
          ({ status }) =>
            `${walletName(status?.wallet, writing)} (${environments[environmentName(status?.environment)]})`,
        ),
      ),
    ].join(', ');
  const silent = latest.filter(({ stale }) => stale);
  const failing = latest.filter(
    ({ status, stale }) => !stale && (status === undefined || !isWithoutProblem(status)),
  );
  if (silent.length + failing.length === 0)
    return { isGood: true, text: overview.walletsGood(byWallet.size) };
  const texts = [
    ...(failing.length === 0 ? [] : [overview.walletsFailing(namesOf(failing))]),
    ...(silent.length === 0 ? [] : [overview.walletsUnknown(namesOf(silent))]),
  ];
  return { isGood: false, text: texts.join(' ') };
}

const isWithoutProblem = ({ health, breaker, credentialsRefused }: WalletStatus): boolean =>
  health !== WalletHealth.DOWN &&
  health !== WalletHealth.DEGRADED &&
  breaker === WalletBreakerState.CLOSED &&
  !credentialsRefused;
