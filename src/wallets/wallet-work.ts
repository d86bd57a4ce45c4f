import { durationMs } from '@bufbuild/protobuf/wkt';
import type { Duration } from '@bufbuild/protobuf/wkt';
import type { Client } from '@connectrpc/connect';
import type { PaymentOption } from '../contract/payment-option.ts';
import type { Environment } from '../gen/gatehouse/v1/order_pb.js';
import type { PaymentAttemptService } from '../gen/gatehouse/v1/payment_attempt_service_pb.js';
import type { RefundService } from '../gen/gatehouse/v1/refund_service_pb.js';
import type { StrayPaymentService } from '../gen/gatehouse/v1/stray_payment_service_pb.js';
import type { Logger } from '../platform/logger.ts';
import type { AccountConnectors } from './account-connectors.ts';
import type { CallbackTokens } from './callback-token.ts';
import type { WalletConnector } from './connector/wallet-connector.ts';
import type { Served } from './wallet-calls.ts';

/* The common parts of the work on payments (attempt-work.ts), and on reversals and refunds (reversal-work.ts). */

export interface WalletWorkParts {
  /** The name in the log, such as "walleta-sandbox". */
  readonly wallet: string;
  readonly environment: Environment;
  readonly paymentOptions: readonly PaymentOption[];
  /** The connector with the operator's settings. */
  readonly connector: WalletConnector;
  /** The connectors with merchants' own settings. */
  readonly accounts: Pick<AccountConnectors, 'use'>;
  readonly payments: Client<typeof PaymentAttemptService>;
  readonly strayPayments: Client<typeof StrayPaymentService>;
  readonly refunds: Client<typeof RefundService>;
  readonly tokens: CallbackTokens;
  readonly now: () => Date;
  readonly newRequestId: () => string;
  readonly logger: Logger;
  /** The number of items of each kind of work that run concurrently. */
  readonly maxInFlight: number;
  /** Aborts the calls to the wallet at shutdown. */
  readonly stop: AbortSignal;
}

/** The lease of a worker. If the worker exits, its items wait this long, so their orders are still decided within a minute. */
export const leaseSeconds = 45n;

/** The time limit for all calls under one lease, from the request of the lease. So no other worker begins meanwhile. */
const workMs = 40_000;

/**
 * Ends the calls under a lease. The process may have been frozen after core gave the lease, so the time begins with the request of the
 * lease, at `askedAtMs` of performance.now(). @throws when no time is left; then another process has the work
 */
export function workSignal(stop: AbortSignal, askedAtMs: number): AbortSignal {
  const leftMs = workMs - (performance.now() - askedAtMs);
  if (leftMs <= 0)
    throw new Error('the lease came too late, because this process or its connection to core had stopped');
  return AbortSignal.any([stop, AbortSignal.timeout(Math.ceil(leftMs))]);
}

/**
 * Whether the wallet is healthy, for its circuit breaker. A failure with a merchant's own account may be the fault of that
 * account, so it says nothing about the wallet. Refused credentials say nothing either, including the operator's: an open
 * circuit would stop the merchants whose accounts work.
 */
export function walletHealthOf(
  { isWalletHealthy, areCredentialsRefused }: Served<unknown>,
  { walletAccountId }: { readonly walletAccountId: string },
): boolean | undefined {
  if (!isWalletHealthy) return walletAccountId === '' ? false : undefined;
  return areCredentialsRefused ? undefined : true;
}

/**
 * Drops the connector of an account after work in which the wallet refused the credentials. The account may have new ones by now, and the next
 * call opens a connector with the current ones.
 */
export const forgettingRefused =
  <Outcome>(serveWith: (connector: WalletConnector) => Promise<Served<Outcome>>) =>
  async (
    connector: WalletConnector,
    { forget }: { readonly forget: () => void },
  ): Promise<Served<Outcome>> => {
    const served = await serveWith(connector);
    if (served.areCredentialsRefused) forget();
    return served;
  };

export const headersOf = (requestId: string) => ({ headers: { 'x-request-id': requestId } });

export const msOf = (duration: Duration | undefined): number | undefined =>
  duration === undefined ? undefined : durationMs(duration);
