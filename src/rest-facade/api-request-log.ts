import { Code, ConnectError } from '@connectrpc/connect';
import type { CallOptions, Client } from '@connectrpc/connect';
import type { FastifyReply, FastifyRequest } from 'fastify';
import pTimeout from 'p-timeout';
import type { NewId } from '../contract/public-id.ts';
import type { Environment } from '../gen/gatehouse/v1/order_pb.js';
import type { ApiEndpoint, RequestLogService } from '../gen/gatehouse/v1/request_log_service_pb.js';
import { limitFailures } from '../platform/line-limit.ts';
import type { Logger } from '../platform/logger.ts';
import { reasonOf } from '../platform/rpc/rpc-error.ts';
import { createRequestLogEntries } from './request-log-entries.ts';
import type { EntryBatch, RequestLogEntries } from './request-log-entries.ts';

/** Records an answer that is about to be sent. Never waits, never fails. */
export type NoteRequest = (request: FastifyRequest, reply: FastifyReply, payload: unknown) => void;

/** Records merchants' requests and answers, and sends them to core outside the path of payments. One for both environments. */
export interface ApiRequestLog {
  readonly noteIn: (environment: Environment, endpointOf: (routeUrl: string) => ApiEndpoint) => NoteRequest;
  /** Records nothing more, and sends the waiting entries until `signal` aborts. */
  readonly close: (signal: AbortSignal) => Promise<void>;
}

export interface ApiRequestLogOptions {
  readonly requests: Client<typeof RequestLogService>;
  readonly logger: Logger;
  readonly newId: NewId;
  readonly now: () => Date;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
}

const sendIntervalMs = 200;
const retryMs = 1_000;
const deadlineMs = 5_000;
const reportIntervalMs = 10_000;

/** Errors of a core after which a retry may succeed. */
const transient: ReadonlySet<Code> = new Set([
  Code.Unavailable,
  Code.DeadlineExceeded,
  Code.ResourceExhausted,
  Code.Canceled,
]);

/** An error without a reason is not an answer of core. It says that the connection broke. */
const isTransient = (error: ConnectError): boolean =>
  transient.has(error.code) || reasonOf(error) === undefined;

/**
 * Collects entries in memory and sends them in the background, one small batch at a time. Entries that core does not accept
 * are kept up to the limit. Entries above it are counted, and the count is sent when core accepts entries again.
 */
export function createApiRequestLog(options: ApiRequestLogOptions): ApiRequestLog {
  const { logger, newId, nowMs } = options;
  const entries = createRequestLogEntries(newId, nowMs);
  const sender = createBatchSender(options, entries);
  const reportLeftOut = createLeftOutReport(options, entries);
  const timer = setInterval(() => {
    sender.sendAll();
    reportLeftOut();
  }, sendIntervalMs).unref();

  return {
    noteIn: (environment, endpointOf) => noteRequests(options, entries, environment, endpointOf),
    async close(signal) {
      entries.close();
      clearInterval(timer);
      const lost = await sender.sendRest(signal);
      if (lost > 0)
        logger.warn(
          { lost },
          'requests were left out of the request log: core did not accept them before this process stopped',
        );
      reportLeftOut({ atOnce: true });
    },
  };
}

const noteRequests =
  (
    { now, nowMs }: ApiRequestLogOptions,
    entries: RequestLogEntries,
    environment: Environment,
    endpointOf: (routeUrl: string) => ApiEndpoint,
  ): NoteRequest =>
  (request, reply, payload) => {
    const { logged } = request;
    if (logged?.merchantId === undefined || logged.apiKeyId === undefined) {
      entries.countUnauthenticated();
      return;
    }
    const status = reply.statusCode;
    const text = typeof payload === 'string' ? payload : '';
    const { id, method, url, bodyReading } = request;
    const excerpt = bodyReading?.readable === true ? bodyReading.excerpt : undefined;
    // Not Content-Length, because a merchant could name a huge one and use up the memory of all merchants' entries.
    const bytes = text.length + (excerpt?.length ?? 0) + request.bodyBytes;
    if (!entries.admit({ merchantId: logged.merchantId, environment, status, bytes })) return;
    const durationMs = nowMs() - logged.startedMs;
    const endpoint = endpointOf(request.routeOptions.url ?? '');
    const at = Math.round(now().getTime() - durationMs);
    const answer = { environment, endpoint, status, payload: text, at, durationMs, bytes };
    entries.add({ id, method, url, logged, bodyReading, ...answer });
  };

/** Sends batches to core, one after the other. A batch that core does not accept is sent again before the next one. */
function createBatchSender({ requests, logger, nowMs }: ApiRequestLogOptions, entries: RequestLogEntries) {
  let unsent: EntryBatch | undefined;
  let nextTryMs = 0;
  let sending: Promise<void> | undefined;
  let isCoreUnavailable = false;
  const logRefused = limitFailures(
    (error, what: 'entries' | 'counts') => {
      if (what === 'entries')
        logger.error(
          { err: error },
          'core refuses entries of the request log, which are lost; payments continue. Compare the versions of core and rest-facade',
        );
      else
        logger.warn(
          { err: error },
          'core refuses counts of requests that have no entry in the request log; these counts are lost',
        );
    },
    (what) => what,
  );

  /** Returns whether the batch is finished: core accepted it, or never will. */
  const send = async (batch: EntryBatch, callOptions: CallOptions): Promise<boolean> => {
    try {
      await requests.recordApiRequests(batch, callOptions);
      if (isCoreUnavailable) logger.info('core accepts entries of the request log again');
      isCoreUnavailable = false;
      return true;
    } catch (error) {
      if (isTransient(ConnectError.from(error))) {
        if (!isCoreUnavailable)
          logger.warn(
            { err: error },
            'core does not accept entries of the request log; they are kept and sent again every second',
          );
        isCoreUnavailable = true;
        return false;
      }
      const lost = batch.requests.length;
      if (lost > 0) entries.leaveOutRefused(lost);
      logRefused(error, lost > 0 ? 'entries' : 'counts');
      return true;
    }
  };
  /** Returns whether there may be more to send. */
  const sendNext = async (callOptions: CallOptions): Promise<boolean> => {
    unsent ??= entries.nextBatch();
    if (unsent === undefined || !(await send(unsent, callOptions))) return false;
    unsent = undefined;
    return true;
  };
  const sendUntilRefused = async (): Promise<void> => {
    while (nowMs() >= nextTryMs) {
      if (await sendNext({ timeoutMs: deadlineMs })) continue;
      if (unsent === undefined) return;
      nextTryMs = nowMs() + retryMs;
    }
  };

  return {
    /** Sends the waiting entries, unless they are being sent or core has just refused them. */
    sendAll(): void {
      sending ??= sendUntilRefused()
        .catch((error: unknown) => logger.error({ err: error }, 'entries of the request log were lost'))
        .finally(() => {
          sending = undefined;
        });
    },
    /** Sends the waiting entries once more, until `signal` aborts. Returns the number of lost ones. */
    async sendRest(signal: AbortSignal): Promise<number> {
      nextTryMs = 0;
      const rest = async (): Promise<void> => {
        await sending;
        while (!signal.aborted && (await sendNext({ timeoutMs: deadlineMs, signal })));
      };
      await pTimeout(rest(), { milliseconds: Infinity, signal }).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
      return entries.count() + (unsent?.requests.length ?? 0);
    },
  };
}

/** Logs how many entries were left out, at most every ten seconds. */
function createLeftOutReport({ logger, nowMs }: ApiRequestLogOptions, entries: RequestLogEntries) {
  let reportedMs = -Infinity;
  return ({ atOnce = false } = {}): void => {
    const { busy, full, refused } = entries.leftOut();
    if (busy + full + refused === 0 || (!atOnce && nowMs() - reportedMs < reportIntervalMs)) return;
    const why = 'a merchant sent more than the log keeps, or core did not accept them';
    logger.warn(entries.takeLeftOut(), `requests were left out of the request log: ${why}`);
    reportedMs = nowMs();
  };
}
