import { durationMs, timestampMs } from '@bufbuild/protobuf/wkt';
import type { Duration } from '@bufbuild/protobuf/wkt';
import type { FastifyInstance } from 'fastify';
import {
  WalletBreakerState,
  WalletHealth,
  WalletWorkKind,
} from '../../gen/gatehouse/v1/wallet_status_service_pb.js';
import type { ReportedWalletStatus, WalletStatus } from '../../gen/gatehouse/v1/wallet_status_service_pb.js';
import { durationText } from '../../platform/language/duration-text.ts';
import { numberFormat } from '../../platform/language/formats.ts';
import { loadPanel } from '../try-call.ts';
import type { Dashboard } from '../dashboard.ts';
import { momentOf } from '../moment-text.ts';
import { loadTab } from './environment-tab.ts';
import { environmentTabs, numberText, walletName, writingFor } from './operator-writing.ts';
import type { Writing } from './operator-writing.ts';

const path = '/operator/wallets';
/** The period of the figures, when no process has reported it. */
const usualWindowSeconds = 300;

/** The page on which operators see the state of the wallets. */
export function addWallets(app: FastifyInstance, { clients, sendPage, timeZone, now }: Dashboard): void {
  app.get(path, async (request, reply) => {
    const writing = writingFor(request, timeZone);
    const words = writing.words.walletPage;
    const { environment, shown: wallets } = await loadTab(
      request,
      ({ number }) =>
        loadPanel(request, async (options) => {
          const { statuses } = await clients.walletStatuses.listWalletStatuses(
            { environment: number },
            options,
          );
          const fresh = new Set(statuses.filter(({ stale }) => !stale).map(({ status }) => status?.wallet));
          return {
            rows: statuses.map((each) =>
              each.stale
                ? staleRow(each, fresh.has(each.status?.wallet), writing, now())
                : walletRow(each, writing),
            ),
            window: statuses[0]?.window,
          };
        }),
      ({ rows }) => rows.length === 0,
    );
    const window = wallets.isThere ? wallets.value.window : undefined;
    const seconds = window === undefined ? usualWindowSeconds : Math.round(durationMs(window) / 1000);
    return sendPage(request, reply, {
      template: 'operator/wallets',
      title: words.title,
      area: 'operatorWallets',
      words: writing.words,
      view: {
        tabs: environmentTabs(path, environment.name, writing),
        lead: words.lead(durationText(seconds, request.language)),
        wallets,
      },
    });
  });
}

/** Of a silent process only the time since its last report is shown, because that report is outdated. A restart leaves a replaced one. */
function staleRow(
  { status, instance, reportTime }: ReportedWalletStatus,
  isReplaced: boolean,
  writing: Writing,
  now: Date,
) {
  const { unknown, nothing, silent, replaced } = writing.words.walletPage;
  const reportedMs = reportTime === undefined ? now.getTime() : timestampMs(reportTime);
  const age = Math.max(0, Math.round((now.getTime() - reportedMs) / 1000));
  return {
    wallet: walletName(status?.wallet, writing),
    instance,
    health: { tone: undefined, text: unknown },
    detail: '',
    breaker: { tone: undefined, text: unknown },
    calls: nothing,
    success: nothing,
    p50: nothing,
    p99: nothing,
    inFlight: [nothing],
    reported: momentOf(reportTime, writing.language, writing.timeZone),
    silent: (isReplaced ? replaced : silent)(durationText(age, writing.language)),
  };
}

function walletRow({ status, instance, reportTime }: ReportedWalletStatus, writing: Writing) {
  const words = writing.words.walletPage;
  const { calls = 0, failures = 0 } = status ?? {};
  const percent = numberFormat(writing.language, { style: 'percent', maximumFractionDigits: 1 });
  return {
    wallet: walletName(status?.wallet, writing),
    instance,
    health: healthOf(status?.health, words),
    detail: status?.healthDetail ?? '',
    breaker:
      status?.credentialsRefused === true
        ? { tone: 'bad', text: words.credentialsRefused }
        : breakerOf(status?.breaker, words),
    calls: numberText(calls, writing),
    success: calls === 0 ? words.nothing : percent.format((calls - failures) / calls),
    p50: latencyText(status?.latencyP50, writing),
    p99: latencyText(status?.latencyP99, writing),
    inFlight: inFlightTexts(status, writing),
    reported: momentOf(reportTime, writing.language, writing.timeZone),
    silent: '',
  };
}

/** One text for each kind of work. A process of release 0.1.0 reports only the sum. */
function inFlightTexts(status: WalletStatus | undefined, writing: Writing): readonly string[] {
  const { inFlight, workKinds, nothing } = writing.words.walletPage;
  const inUse = (count: number, limit: number): string =>
    inFlight(numberText(count, writing), numberText(limit, writing));
  if (status === undefined) return [nothing];
  if (status.work.length === 0) return [inUse(status.inFlight, status.places)];
  return status.work.map((each) => {
    const text = inUse(each.inFlight, each.maxInFlight);
    switch (each.kind) {
      case WalletWorkKind.REVERSALS:
        return workKinds.reversals(text);
      case WalletWorkKind.PAYER_PAYMENTS:
        return workKinds.payerPayments(text);
      default:
        return workKinds.payments(text);
    }
  });
}

function latencyText(latency: Duration | undefined, { words, language }: Writing): string {
  if (latency === undefined) return words.walletPage.nothing;
  const ms = durationMs(latency);
  const [unit, count] = ms < 1000 ? (['millisecond', ms] as const) : (['second', ms / 1000] as const);
  const format = numberFormat(language, {
    style: 'unit',
    unit,
    unitDisplay: 'short',
    maximumSignificantDigits: 3,
  });
  return format.format(count);
}

function healthOf(health: WalletHealth | undefined, { health: words }: Writing['words']['walletPage']) {
  switch (health) {
    case WalletHealth.UP:
      return { tone: 'good', text: words.up };
    case WalletHealth.DEGRADED:
      return { tone: 'warn', text: words.degraded };
    case WalletHealth.DOWN:
      return { tone: 'bad', text: words.down };
    case WalletHealth.UNTOLD:
      return { tone: 'info', text: words.unreported };
    default:
      return { tone: 'info', text: words.unasked };
  }
}

function breakerOf(
  breaker: WalletBreakerState | undefined,
  { breaker: words }: Writing['words']['walletPage'],
) {
  switch (breaker) {
    case WalletBreakerState.CLOSED:
      return { tone: 'good', text: words.closed };
    case WalletBreakerState.OPEN:
      return { tone: 'bad', text: words.open };
    case WalletBreakerState.TRYING:
      return { tone: 'warn', text: words.trying };
    default:
      return { tone: 'info', text: words.unknown };
  }
}
