import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError } from '@connectrpc/connect';
import type { CallOptions, Client } from '@connectrpc/connect';
import type { FastifyReply, FastifyRequest } from 'fastify';
import pTimeout from 'p-timeout';
import type { Environment } from '../gen/gatehouse/v1/order_pb.js';
import type { ApiEndpoint } from '../gen/gatehouse/v1/request_log_service_pb.js';
import type { ApiRequestSchema, RequestLogService } from '../gen/gatehouse/v1/request_log_service_pb.js';
import type { Logger } from '../platform/logger.ts';
import { maskSensitive } from '../platform/mask-sensitive.ts';
import type { NewId } from '../contract/public-id.ts';
import { maskJson, maskTarget } from './mask-exchange.ts';

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

/**
 * The entries that are kept per second, for each merchant and in total. Successes and failures have separate limits, so that
 * failures stay visible under any load. More entries would cost every payment, and are rarely read.
 */
const keptPerSecond = { perMerchant: 50, together: 300 };
/** Above either limit, new entries are dropped, so that memory is bounded while core is unavailable. */
const limits = { maxWaiting: 5_000, maxWaitingBytes: 16 * 2 ** 20 };
/** Small enough that preparing a batch delays no payment. */
const maxInBatch = 50;
const sendIntervalMs = 200;
const retryMs = 1_000;
const deadlineMs = 5_000;
const reportIntervalMs = 10_000;
const maxUnkeptEntries = 1_000;

/** Errors of a core after which a retry may succeed. */
const passing: ReadonlySet<Code> = new Set([
  Code.Unavailable,
  Code.DeadlineExceeded,
  Code.ResourceExhausted,
  Code.Canceled,
]);

/** The kept parts of a request. The request itself would also keep its connection in memory. */
interface Noted extends Pick<FastifyRequest, 'id' | 'method' | 'url' | 'logged' | 'bodyReading'> {
  readonly environment: Environment;
  readonly endpoint: ApiEndpoint;
  readonly status: number;
  readonly payload: string;
  readonly at: number;
  readonly durationMs: number;
  readonly bytes: number;
}

type Message = MessageInitShape<typeof ApiRequestSchema>;
interface Batch {
  readonly requests: Message[];
  readonly unkept: { merchantId: string; environment: Environment; count: bigint }[];
  readonly unauthenticated: bigint;
}

/**
 * Collects entries in memory and sends them in the background, one small batch at a time. Entries that core does not accept
 * are kept up to the limit. Entries above it are counted, and the count is sent when core accepts entries again.
 */
export function createApiRequestLog(options: ApiRequestLogOptions): ApiRequestLog {
  const { requests, logger, newId, now, nowMs } = options;
  const waiting: Noted[] = [];
  const shares = new Map<string, { succeeded: number; others: number }>();
  const together = { succeeded: 0, others: 0 };
  const unkept = new Map<string, Batch['unkept'][number]>();
  let waitingBytes = 0;
  let secondEndsMs = 0;
  let unauthenticated = 0n;
  let unreported = { busy: 0, full: 0 };
  let reportedMs = -Infinity;
  let unsent: Batch | undefined;
  let nextTryMs = 0;
  let sending: Promise<void> | undefined;
  let isCoreUnavailable = false;
  let isClosed = false;

  const leaveOut = (merchantId: string, environment: Environment, why: keyof typeof unreported): void => {
    unreported[why] += 1;
    const key = `${environment} ${merchantId}`;
    const known = unkept.get(key);
    if (known !== undefined) known.count += 1n;
    // Further merchants are counted only in the log line.
    else if (unkept.size < maxUnkeptEntries) unkept.set(key, { merchantId, environment, count: 1n });
  };
  const isWithinShare = (key: string, status: number): boolean => {
    if (nowMs() >= secondEndsMs) {
      shares.clear();
      together.succeeded = 0;
      together.others = 0;
      secondEndsMs = nowMs() + 1_000;
    }
    const kind = status < 400 ? 'succeeded' : 'others';
    let share = shares.get(key);
    if (share === undefined) shares.set(key, (share = { succeeded: 0, others: 0 }));
    if (share[kind] >= keptPerSecond.perMerchant || together[kind] >= keptPerSecond.together) return false;
    share[kind] += 1;
    together[kind] += 1;
    return true;
  };

  const noteIn: ApiRequestLog['noteIn'] = (environment, endpointOf) => (request, reply, payload) => {
    const { logged } = request;
    if (logged?.merchantId === undefined || logged.apiKeyId === undefined) {
      unauthenticated += 1n;
      return;
    }
    const { merchantId } = logged;
    const status = reply.statusCode;
    if (!isWithinShare(`${environment} ${merchantId}`, status)) {
      leaveOut(merchantId, environment, 'busy');
      return;
    }
    const text = typeof payload === 'string' ? payload : '';
    // Not Content-Length, because a merchant could name a huge one and use up the memory of all merchants' entries.
    const bytes = text.length + request.bodyBytes;
    if (isClosed || waiting.length >= limits.maxWaiting || waitingBytes + bytes > limits.maxWaitingBytes) {
      leaveOut(merchantId, environment, 'full');
      return;
    }
    const durationMs = nowMs() - logged.startedMs;
    const endpoint = endpointOf(request.routeOptions.url ?? '');
    const at = Math.round(now().getTime() - durationMs);
    waitingBytes += bytes;
    const { id, method, url, bodyReading } = request;
    const answer = { environment, endpoint, status, payload: text, at, durationMs, bytes };
    waiting.push({ id, method, url, logged, bodyReading, ...answer });
  };

  const nextBatch = (): Batch | undefined => {
    const noted = waiting.splice(0, maxInBatch);
    for (const { bytes } of noted) waitingBytes -= bytes;
    if (noted.length === 0 && unkept.size === 0 && unauthenticated === 0n) return undefined;
    const batch = {
      requests: noted.map((each) => messageOf(each, newId)),
      unkept: [...unkept.values()],
      unauthenticated,
    };
    unkept.clear();
    unauthenticated = 0n;
    return batch;
  };
  /** Gives whether the batch is finished: core accepted it, or never will. */
  const send = async (batch: Batch, callOptions: CallOptions): Promise<boolean> => {
    try {
      await requests.recordApiRequests(batch, callOptions);
      if (isCoreUnavailable) logger.info('core accepts entries of the request log again');
      isCoreUnavailable = false;
      return true;
    } catch (error) {
      if (passing.has(ConnectError.from(error).code)) {
        if (!isCoreUnavailable)
          logger.warn(
            { err: error },
            'core does not accept entries of the request log; they are kept and sent again every second',
          );
        isCoreUnavailable = true;
        return false;
      }
      const lost = batch.requests.length;
      logger.error({ err: error, lost }, 'core refused entries of the request log, which are lost');
      return true;
    }
  };
  const sendOn = async (): Promise<void> => {
    while (nowMs() >= nextTryMs) {
      unsent ??= nextBatch();
      if (unsent === undefined) return;
      if (await send(unsent, { timeoutMs: deadlineMs })) unsent = undefined;
      else nextTryMs = nowMs() + retryMs;
    }
  };
  const reportLeftOut = (): void => {
    if (unreported.busy + unreported.full === 0 || nowMs() - reportedMs < reportIntervalMs) return;
    const why = 'a merchant sent more than the log keeps, or core did not accept them';
    logger.warn(
      { busy: unreported.busy, full: unreported.full },
      `requests were left out of the request log: ${why}`,
    );
    unreported = { busy: 0, full: 0 };
    reportedMs = nowMs();
  };
  const timer = setInterval(() => {
    sending ??= sendOn()
      .catch((error: unknown) => logger.error({ err: error }, 'entries of the request log were lost'))
      .finally(() => {
        sending = undefined;
      });
    reportLeftOut();
  }, sendIntervalMs).unref();

  return {
    noteIn,
    async close(signal) {
      isClosed = true;
      clearInterval(timer);
      nextTryMs = 0;
      const rest = async (): Promise<void> => {
        await sending;
        while (!signal.aborted) {
          unsent ??= nextBatch();
          if (unsent === undefined || !(await send(unsent, { timeoutMs: deadlineMs, signal }))) return;
          unsent = undefined;
        }
      };
      await pTimeout(rest(), { milliseconds: Infinity, signal }).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
      const lost = waiting.length + (unsent?.requests.length ?? 0);
      if (lost > 0)
        logger.warn(
          { lost },
          'requests were left out of the request log: core did not accept them before this process stopped',
        );
      reportedMs = -Infinity;
      reportLeftOut();
    },
  };
}

/** The body as text; '' for a body that is nested too deeply to be written. Bodies are read without recursion. */
function bodyText(body: unknown): string {
  try {
    return maskJson(JSON.stringify(body));
  } catch {
    return '';
  }
}

function messageOf(noted: Noted, newId: NewId): Message {
  const { environment, endpoint, status, method, at, durationMs, bodyReading, logged } = noted;
  return {
    apiRequestId: newId('req', new Date(at)),
    merchantId: logged?.merchantId ?? '',
    environment,
    apiKeyId: logged?.apiKeyId ?? '',
    requestId: noted.id,
    endpoint,
    method,
    path: maskTarget(noted.url),
    status,
    reason: logged?.reason ?? '',
    durationMicros: BigInt(Math.round(durationMs * 1_000)),
    orderNumber: maskSensitive(logged?.orderNumber ?? ''),
    requestBody: bodyReading?.readable === true ? bodyText(bodyReading.object) : '',
    responseBody: maskJson(noted.payload),
    createTime: timestampFromMs(at),
  };
}
