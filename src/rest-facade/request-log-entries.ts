import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { FastifyRequest } from 'fastify';
import type { NewId } from '../contract/public-id.ts';
import type { Environment } from '../gen/gatehouse/v1/order_pb.js';
import type { ApiEndpoint, ApiRequestSchema } from '../gen/gatehouse/v1/request_log_service_pb.js';
import { maskSensitive } from '../platform/mask-sensitive.ts';
import { maskJson, maskTarget } from './mask-exchange.ts';
import { createRequestLogShare } from './request-log-share.ts';

/** The kept parts of a request. The request itself would also keep its connection in memory. */
export interface NotedRequest extends Pick<
  FastifyRequest,
  'id' | 'method' | 'url' | 'logged' | 'bodyReading'
> {
  readonly environment: Environment;
  readonly endpoint: ApiEndpoint;
  readonly status: number;
  readonly payload: string;
  readonly at: number;
  readonly durationMs: number;
  readonly bytes: number;
}

type Message = MessageInitShape<typeof ApiRequestSchema>;

/** Entries to be sent together, and the numbers of requests without an entry. */
export interface EntryBatch {
  readonly requests: Message[];
  readonly unkept: { merchantId: string; environment: Environment; count: bigint }[];
  readonly unauthenticated: bigint;
}

/** The numbers of entries that were left out: of merchants that sent too many, while too many entries waited, and by core. */
export interface LeftOut {
  readonly busy: number;
  readonly full: number;
  readonly refused: number;
}

/** The entries that wait to be sent, within bounded memory. Further entries are left out and counted. */
export interface RequestLogEntries {
  /** Whether an entry is to be added. Counts it as left out if not. */
  readonly admit: (entry: EntrySize) => boolean;
  readonly add: (noted: NotedRequest) => void;
  readonly countUnauthenticated: () => void;
  /** Admits nothing more. */
  readonly close: () => void;
  /** The oldest entries, and the counts since the last batch; undefined when there is nothing to send. */
  readonly nextBatch: () => EntryBatch | undefined;
  readonly count: () => number;
  /** Counts entries of a batch that core refused as left out. */
  readonly leaveOutRefused: (count: number) => void;
  /** The entries that were left out since `takeLeftOut`. */
  readonly leftOut: () => LeftOut;
  readonly takeLeftOut: () => LeftOut;
}

export interface EntrySize extends Pick<NotedRequest, 'environment' | 'status' | 'bytes'> {
  readonly merchantId: string;
}

/** Above either limit, new entries are dropped, so that memory is bounded while core is unavailable. */
const limits = { maxWaiting: 5_000, maxWaitingBytes: 16 * 2 ** 20 };
/** Small enough that preparing a batch delays no payment. */
const maxInBatch = 50;
const maxUnkeptEntries = 1_000;

const noneLeftOut = () => ({ busy: 0, full: 0, refused: 0 });

export function createRequestLogEntries(newId: NewId, nowMs: () => number): RequestLogEntries {
  const isWithinShare = createRequestLogShare(nowMs);
  const waiting: NotedRequest[] = [];
  const unkept = new Map<string, EntryBatch['unkept'][number]>();
  let waitingBytes = 0;
  let unauthenticated = 0n;
  let leftOut = noneLeftOut();
  let isClosed = false;

  const leaveOut = ({ merchantId, environment }: EntrySize, why: 'busy' | 'full'): void => {
    leftOut[why] += 1;
    const key = `${environment} ${merchantId}`;
    const known = unkept.get(key);
    if (known !== undefined) known.count += 1n;
    // Further merchants are counted only in the log line.
    else if (unkept.size < maxUnkeptEntries) unkept.set(key, { merchantId, environment, count: 1n });
  };

  return {
    admit(entry) {
      if (!isWithinShare(`${entry.environment} ${entry.merchantId}`, entry.status)) {
        leaveOut(entry, 'busy');
        return false;
      }
      if (
        isClosed ||
        waiting.length >= limits.maxWaiting ||
        waitingBytes + entry.bytes > limits.maxWaitingBytes
      ) {
        leaveOut(entry, 'full');
        return false;
      }
      return true;
    },
    add(noted) {
      waitingBytes += noted.bytes;
      waiting.push(noted);
    },
    countUnauthenticated: () => void (unauthenticated += 1n),
    close: () => void (isClosed = true),
    nextBatch() {
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
    },
    count: () => waiting.length,
    leaveOutRefused: (count) => void (leftOut.refused += count),
    leftOut: () => leftOut,
    takeLeftOut() {
      const taken = leftOut;
      leftOut = noneLeftOut();
      return taken;
    },
  };
}

function bodyText(reading: NotedRequest['bodyReading']): string {
  return reading?.readable === true ? maskJson(reading.excerpt ?? JSON.stringify(reading.object)) : '';
}

function messageOf(noted: NotedRequest, newId: NewId): Message {
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
    requestBody: bodyText(bodyReading),
    responseBody: maskJson(noted.payload),
    createTime: timestampFromMs(at),
  };
}
