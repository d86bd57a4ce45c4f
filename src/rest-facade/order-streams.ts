import { isIP } from 'node:net';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError } from '@connectrpc/connect';
import type { Client } from '@connectrpc/connect';
import { pushable } from 'it-pushable';
import type {
  OrderService,
  StreamOrderBatchesRequestSchema,
  StreamOrderBatchesResponse,
} from '../gen/gatehouse/v1/order_service_pb.js';
import type { Logger } from '../platform/logger.ts';
import { pause } from '../platform/pause.ts';
import { fromStatus } from '../platform/rpc/rpc-error.ts';
import { activeTraceparent } from '../platform/tracing/span.ts';

type StreamRequest = MessageInitShape<typeof StreamOrderBatchesRequestSchema>;
/** One message on a stream to core. */
export type OrderBatch = NonNullable<StreamRequest['batch']>;
export type OrderBatchOutcome = StreamOrderBatchesResponse['outcome'];

export interface OrderStreams {
  /**
   * Sends a batch over an open stream and gives core's answer. Undefined when no stream is open, or when the stream ended without
   * an answer. In the second case core may have processed the batch.
   * @throws core's error for the whole batch; DEADLINE_EXCEEDED
   */
  readonly send: (
    batch: OrderBatch,
    options: { readonly timeoutMs: number; readonly requestId: string },
  ) => Promise<OrderBatchOutcome | undefined>;
  /** Accepts no more batches, and ends the streams when the running ones are answered. */
  readonly close: () => Promise<void>;
}

export interface OrderStreamsOptions {
  /** The client of a connection that is balanced over all cores. */
  readonly orders: Client<typeof OrderService>;
  /** The addresses of the cores, which determine the number of streams. */
  readonly addresses: readonly string[];
  readonly logger: Logger;
  /** A stream is replaced after this time, so that an added or restarted core gets its share. */
  readonly lifetimeMs?: number;
}

const defaultLifetimeMs = 10_000;
/** The delay between two attempts to open a stream. */
const reopenAfterMs = 250;
/** Core always answers at the deadline at the latest. A core without an answer this long afterwards hangs. */
const silenceMs = 500;
const openTimeoutMs = 5_000;
const streamsPerHostName = 12;
const maxBatchId = 2 ** 32 - 1;

/**
 * Keeps streams open to the cores. A batch on a stream costs a fraction of a call (docs/adr/0014). The caller needs a fallback
 * for the time without an open stream.
 */
export function createOrderStreams(options: OrderStreamsOptions): OrderStreams {
  const { addresses, logger, lifetimeMs = defaultLifetimeMs } = options;
  const closing = new AbortController();
  const open = new Set<OpenStream>();
  let turn = 0;
  let wasOpen: boolean | undefined;

  const note = (reason?: unknown): void => {
    const isOpen = open.size > 0;
    if (isOpen === wasOpen || closing.signal.aborted) return;
    wasOpen = isOpen;
    if (isOpen) logger.info('streams to core are open');
    else
      logger.warn(
        { err: reason },
        'no stream to core is open; batches are sent as single calls until one opens',
      );
  };
  const keepOpen = async (): Promise<void> => {
    let current: OpenStream | undefined;
    const replaceBy = (next: OpenStream | undefined): void => {
      if (current !== undefined) {
        open.delete(current);
        current.retire();
      }
      current = next;
    };
    while (!closing.signal.aborted) {
      const next = openStream(options.orders, closing.signal);
      const over = new AbortController();
      void next.ended.then((reason) => {
        open.delete(next);
        note(reason);
        over.abort();
      });
      const wasAccepted = await next.opened;
      if (wasAccepted) {
        open.add(next);
        note();
        replaceBy(next);
        await pause(lifetimeMs, AbortSignal.any([over.signal, closing.signal]));
      }
      // A refused stream has ended too, but its abort signal fires later.
      if (!wasAccepted || over.signal.aborted) await pause(reopenAfterMs, closing.signal);
    }
    const last = current;
    replaceBy(undefined);
    await last?.ended;
  };
  const kept = Array.from({ length: streamCountFor(addresses) }, keepOpen);

  return {
    send: async (batch, { timeoutMs, requestId }) => {
      const streams = closing.signal.aborted ? [] : [...open];
      const stream = streams[(turn = (turn + 1) % Math.max(1, streams.length))];
      const traceparent = activeTraceparent();
      return stream?.send({ batch, requestId, traceparent, timeout: durationFromMs(timeoutMs) }, timeoutMs);
    },
    close: async () => {
      closing.abort();
      await Promise.all(kept);
    },
  };
}

/** One stream per core, and at least two, so that one is open while another is replaced. A name may stand for many cores. */
const streamCountFor = (addresses: readonly string[]): number =>
  addresses.some((address) => isIP(hostOf(address)) === 0)
    ? streamsPerHostName
    : Math.max(2, addresses.length);

const hostOf = (address: string): string => address.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');

interface OpenStream {
  /** Resolves with whether core accepts batches on the stream. */
  readonly opened: Promise<boolean>;
  /** Resolves at the end of the stream, with its error. Never rejects. */
  readonly ended: Promise<unknown>;
  readonly send: (request: StreamRequest, timeoutMs: number) => Promise<OrderBatchOutcome | undefined>;
  /** Ends the stream when its running batches are answered. */
  readonly retire: () => void;
}

interface PendingBatch {
  readonly settle: (outcome: OrderBatchOutcome | undefined) => void;
  readonly fail: (error: ConnectError) => void;
}

/** @param stopOpening - aborts when the caller no longer needs the stream; without effect once it is open */
function openStream(orders: Client<typeof OrderService>, stopOpening: AbortSignal): OpenStream {
  const requests = pushable<StreamRequest>({ objectMode: true });
  const pendingBatches = new Map<number, PendingBatch>();
  const streamAbort = new AbortController();
  const { promise: opened, resolve: resolveOpened } = Promise.withResolvers<boolean>();
  const openingLimit = AbortSignal.any([stopOpening, AbortSignal.timeout(openTimeoutMs)]);
  const abortOpening = (): void => streamAbort.abort();
  openingLimit.addEventListener('abort', abortOpening);
  let isOver = false;
  let lastId = 0;

  const take = ({ batchId, outcome }: StreamOrderBatchesResponse): void => {
    const batch = pendingBatches.get(batchId);
    switch (outcome.case) {
      case undefined:
        openingLimit.removeEventListener('abort', abortOpening);
        resolveOpened(true);
        break;
      case 'error':
        batch?.fail(fromStatus(outcome.value));
        break;
      default:
        batch?.settle(outcome);
    }
  };
  const receive = async (): Promise<unknown> => {
    try {
      for await (const response of orders.streamOrderBatches(requests, { signal: streamAbort.signal }))
        take(response);
      return undefined;
    } catch (error) {
      return error;
    } finally {
      isOver = true;
      openingLimit.removeEventListener('abort', abortOpening);
      resolveOpened(false);
      requests.end();
      for (const { settle } of pendingBatches.values()) settle(undefined);
    }
  };
  const send = (request: StreamRequest, timeoutMs: number): Promise<OrderBatchOutcome | undefined> =>
    new Promise((resolve, reject) => {
      if (isOver) {
        resolve(undefined);
        return;
      }
      const batchId = (lastId = (lastId % maxBatchId) + 1);
      const end = (): void => {
        clearTimeout(timer);
        pendingBatches.delete(batchId);
      };
      const timer = setTimeout(() => {
        end();
        reject(new ConnectError('core did not answer in time', Code.DeadlineExceeded));
        // Send nothing more to a core that hangs, and do not wait for it.
        streamAbort.abort();
      }, timeoutMs + silenceMs);
      pendingBatches.set(batchId, {
        settle: (outcome) => {
          end();
          resolve(outcome);
        },
        fail: (error) => {
          end();
          reject(error);
        },
      });
      requests.push({ ...request, batchId });
    });
  return { opened, ended: receive(), send, retire: () => void requests.end() };
}
