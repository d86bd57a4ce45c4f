import { isWalletId } from '../../contract/payment-option.ts';
import { maxWallets } from '../../contract/wallets-file/wallets-schema.ts';
import { fromBinary } from '@bufbuild/protobuf';
import { durationFromMs, durationMs, timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { Duration } from '@bufbuild/protobuf/wkt';
import { WalletStatusSchema, WalletStatusService } from '../../gen/gatehouse/v1/wallet_status_service_pb.js';
import type { WalletStatus } from '../../gen/gatehouse/v1/wallet_status_service_pb.js';
import { markUneventful } from '../../platform/rpc/call-context.ts';
import { encodeMessage } from '../../platform/rpc/message-bytes.ts';
import { rpcService } from '../../contract/rpc-service.ts';
import type { RpcService } from '../../platform/rpc/rpc-service.ts';
import { combine } from '../domain/combine.ts';
import type { Issue } from '../domain/issue.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';
import { parseText } from '../domain/text.ts';
import { parseEnvironment, parseOptionalEnvironment } from '../rpc/environment.ts';
import { valuesOrThrow } from '../rpc/request-fields.ts';
import { staleAfterMs } from './wallet-states.ts';
import type { WalletReport, WalletStatusStore } from './wallet-status-store.ts';

export interface WalletStatusParts {
  readonly store: WalletStatusStore;
  readonly now: () => Date;
}

/** Each wallet of the file may have both environments. */
const maxReports = 2 * maxWallets;
const instanceLength = 128;
const maxWindowMs = 60 * 60_000;

/** gatehouse.v1.WalletStatusService. */
export function walletStatusService({ store, now }: WalletStatusParts): RpcService {
  return rpcService(
    WalletStatusService,
    {
      async reportWalletStatus(request, context) {
        const { instance, windowMs, reports } = valuesOrThrow(
          combine({
            instance: parseText(request.instance, 'instance', { max: instanceLength, required: true }),
            windowMs: parseWindow(request.window),
            reports: parseReports(request.wallets),
          }),
        );
        await store.replace(instance, windowMs, reports);
        markUneventful(context);
        return {};
      },
      async listWalletStatuses(request) {
        const reports = await store.list(valuesOrThrow(parseOptionalEnvironment(request.environment)));
        const at = now().getTime();
        return {
          statuses: reports.map(({ instance, windowMs, reportedAt, payload }) => ({
            instance,
            window: durationFromMs(windowMs),
            reportTime: timestampFromDate(reportedAt),
            stale: at - reportedAt.getTime() > staleAfterMs,
            status: fromBinary(WalletStatusSchema, payload),
          })),
        };
      },
    },
    {
      reportWalletStatus: ['wallets'],
      listWalletStatuses: ['dashboard', 'operator', 'reader'],
    },
  );
}

function parseWindow(window: Duration | undefined): Result<number, Issue> {
  const ms = window === undefined ? 0 : durationMs(window);
  return ms >= 1 && ms <= maxWindowMs
    ? ok(Math.round(ms))
    : err({ field: 'window', issue: 'must be from 0.001s to 3600s' });
}

function parseReports(wallets: readonly WalletStatus[]): Result<WalletReport[], Issue> {
  if (wallets.length > maxReports)
    return err({ field: 'wallets', issue: `must be at most ${maxReports} wallets` });
  const reports: WalletReport[] = [];
  for (const status of wallets) {
    const environment = parseEnvironment(status.environment);
    const { wallet } = status;
    if (!environment.ok || !isWalletId(wallet))
      return err({ field: 'wallets', issue: 'must each name a wallet and an environment' });
    const isReported = reports.some(
      (other) => other.wallet === wallet && other.environment === environment.value,
    );
    if (isReported)
      return err({ field: 'wallets', issue: 'must contain each wallet of an environment only once' });
    reports.push({
      environment: environment.value,
      wallet,
      payload: encodeMessage(WalletStatusSchema, status),
    });
  }
  return ok(reports);
}
