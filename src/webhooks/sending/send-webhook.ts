import type { AttemptReport, Environment, OutgoingDelivery } from '../domain/delivery.ts';
import type { PooledConnection } from './connection-pool.ts';
import { ConnectionPool } from './connection-pool.ts';
import { explainAnswer } from './explain-answer.ts';
import { explainFailure, isConnectionLost, isOwnFailure } from './explain-failure.ts';
import type { ConnectSettings } from './open-socket.ts';
import type { ReceivedResponse, PinnedRequest } from './pinned-connection.ts';
import { PinnedConnection } from './pinned-connection.ts';
import { guardAddresses } from './public-address.ts';
import { hiddenCauseOf } from './resolve-host.ts';
import type { Resolve } from '../../platform/resolve-name.ts';

/** The result of an attempt. Its duration is measured with the monotonic clock, because other clocks may be set during the attempt. */
export type SentReport = Omit<AttemptReport, 'startedAt'>;

export interface WebhookSender {
  /**
   * Makes one attempt and returns its result within `totalMs`. Headers are sent as given, with a `user-agent` added.
   *
   * @throws the reason of `stop` when it aborts, or an AbortError after `close`; the result of the attempt is then unknown
   * @throws the error of a connection that Gatehouse itself could not open (`isOwnFailure`); then nothing was sent
   */
  send(
    delivery: OutgoingDelivery,
    headers: Readonly<Record<string, string>>,
    stop: AbortSignal,
  ): Promise<SentReport>;
  /** Ends the attempts under way and closes all connections. */
  close(): Promise<void>;
}

export interface WebhookSenderOptions {
  /**
   * Non-public IP addresses and networks that sandbox webhooks may use. Production has no such setting, because a
   * merchant's URL must never reach Gatehouse's own network.
   */
  readonly sandboxNetworks: readonly string[];
  /** The version of Gatehouse, for the user agent. */
  readonly version: string;
  /** The time limit of an attempt, from the DNS lookup to the last byte read. */
  readonly totalMs: number;
  /** The part of that limit for the connection. */
  readonly connectMs: number;
  readonly monotonicMs: () => number;
  readonly resolve: Resolve;
  /** Resolves after `ms`, or when `stop` aborts. */
  readonly pause: (ms: number, stop: AbortSignal) => Promise<void>;
  /** Trusted certificate authorities; Node.js's own when absent. */
  readonly ca?: ConnectSettings['ca'];
}

/**
 * An attempt to an unresolvable host name ends after a whole multiple of this time, and reports that time. The duration
 * of the lookup would otherwise distinguish an unknown name from a private address.
 */
const nameFailureStepMs = 1_000;

/** The attempt reached its time limit. */
class DeadlineError extends Error {}

/**
 * A sender with its own connections, which stay open for a few seconds between webhooks to the same origin. The
 * environments share no connections, because they allow different addresses.
 */
export function createWebhookSender(options: WebhookSenderOptions): WebhookSender {
  const { monotonicMs, totalMs, connectMs, resolve, pause } = options;
  const tls = options.ca === undefined ? {} : { ca: options.ca };
  const settings: Readonly<Record<Environment, ConnectSettings>> = {
    SANDBOX: { resolve, connectMs, isAllowed: guardAddresses(options.sandboxNetworks), ...tls },
    PRODUCTION: { resolve, connectMs, isAllowed: guardAddresses([]), ...tls },
  };
  const userAgent = `Gatehouse-Webhooks/${options.version}`;
  const pool = new ConnectionPool(monotonicMs);
  const closing = new AbortController();

  const open = (url: URL, { environment, merchantId }: OutgoingDelivery): PooledConnection => {
    const own = { ...settings[environment], resolve: (host: string) => resolve(host, merchantId) };
    const connection: PinnedConnection = new PinnedConnection(url, own, () => pool.remove(connection));
    return { connection, key: `${environment} ${url.origin}`, openedAtMs: monotonicMs() };
  };

  /** The response, and its connection. */
  const exchange = async (
    url: URL,
    delivery: OutgoingDelivery,
    request: PinnedRequest,
    signal: AbortSignal,
  ): Promise<{ readonly answer: ReceivedResponse; readonly connection: PinnedConnection }> => {
    const pooled = pool.take(`${delivery.environment} ${url.origin}`);
    if (pooled !== undefined) {
      const answer = await pooled.connection.post(request, signal);
      pool.give(pooled);
      // The receiver closed the idle connection while the request was under way. The request is repeated at once, so
      // the receiver need not wait for the next attempt. If the receiver had read it, it gets the event twice, which
      // the contract allows.
      const isStale = answer.status === 0 && isConnectionLost(answer.failure?.error);
      if (!isStale) return { answer, connection: pooled.connection };
    }
    const fresh = open(url, delivery);
    const answer = await fresh.connection.post(request, signal);
    if (fresh.connection.isOpen) pool.give(fresh);
    else fresh.connection.destroy();
    return { answer, connection: fresh.connection };
  };

  return {
    async send(delivery, headers, stop) {
      const startedAtMs = monotonicMs();
      const url = new URL(delivery.url);
      const request = {
        path: url.pathname + url.search,
        headers: { ...headers, 'user-agent': userAgent },
        body: delivery.body,
      };
      const limit = limitedBy([stop, closing.signal], totalMs);
      const { answer, connection } = await exchange(url, delivery, request, limit.signal);
      limit.clear();
      if (answer.failure !== undefined && limit.signal.aborted && !isDeadline(limit.signal)) {
        throw limit.signal.reason;
      }
      if (isOwnFailure(answer.failure?.error, connection.phase)) throw answer.failure?.error;
      const words =
        answer.failure === undefined
          ? explainAnswer(answer, url)
          : explainFailure(answer.failure.error, {
              url,
              status: answer.status,
              phase: connection.phase,
              isTooLate: isDeadline(limit.signal),
              totalMs,
              connectMs,
            });
      const elapsedMs = Math.round(monotonicMs() - startedAtMs);
      const hiddenCause = hiddenCauseOf(answer.failure?.error, url.hostname);
      let durationMs = elapsedMs;
      if (hiddenCause !== undefined) {
        durationMs = Math.max(1, Math.ceil(elapsedMs / nameFailureStepMs)) * nameFailureStepMs;
        const stopping = AbortSignal.any([stop, closing.signal]);
        await pause(durationMs - elapsedMs, stopping);
        if (stopping.aborted) throw stopping.reason;
      }
      return {
        durationMs,
        ...words,
        ...(hiddenCause === undefined ? {} : { hiddenCause }),
        statusCode: answer.status,
        remoteAddress: connection.remoteAddress,
        responseBody: answer.body,
        retryAfter: answer.retryAfter.slice(0, 128),
      };
    },
    async close() {
      closing.abort(new DOMException('the sender was closed', 'AbortError'));
      pool.close();
    },
  };
}

const isDeadline = (signal: AbortSignal): boolean => signal.reason instanceof DeadlineError;

/** A signal that aborts with the first of `signals`, or with a DeadlineError. `clear` removes its timer and listeners. */
function limitedBy(
  signals: readonly AbortSignal[],
  afterMs: number,
): { readonly signal: AbortSignal; clear(): void } {
  const controller = new AbortController();
  const stops = signals.map((signal) => ({ signal, stop: () => controller.abort(signal.reason) }));
  for (const { signal, stop } of stops) {
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop);
  }
  const timer = setTimeout(() => controller.abort(new DeadlineError()), afterMs);
  return {
    signal: controller.signal,
    clear() {
      clearTimeout(timer);
      for (const { signal, stop } of stops) signal.removeEventListener('abort', stop);
    },
  };
}
