import type { LookupFunction, Socket } from 'node:net';
import { rootCertificates } from 'node:tls';
import { Agent, buildConnector } from 'undici';
import type { Dispatcher } from 'undici';
import { runInSpan } from '../../platform/tracing/span.ts';
import { beginWalletSpan, endWalletSpan, withTraceparent } from './wallet-span.ts';
import type { NotSentWhy } from './outcomes.ts';
import type { ExchangePurpose, RawExchange } from './raw-exchange.ts';
import { keptBodyLength, maskBody } from './mask-text.ts';

export interface WalletRequest {
  readonly purpose: ExchangePurpose;
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The length after which no more of an answer is read. */
  readonly maxAnswerBytes: number;
  /** Secrets, which are removed from the exchange wherever they appear. */
  readonly secrets: readonly string[];
}

/** How a request ended. */
export type WalletReply =
  | {
      readonly kind: 'answered';
      readonly status: number;
      /** Names in lower case; of a header sent twice, the first. */
      readonly headers: Readonly<Record<string, string>>;
      readonly body: Buffer;
    }
  /** No byte of the request was sent. */
  | {
      readonly kind: 'not_sent';
      readonly why: Exclude<NotSentWhy, 'no_token' | 'unauthenticated'>;
      readonly detail: string;
    }
  /** At least part of the request was sent, and there is no complete answer. */
  | {
      readonly kind: 'lost';
      readonly why: 'timeout' | 'aborted' | 'connection_lost' | 'answer_too_large';
      readonly detail: string;
    };

export interface WalletHttpSettings {
  /** The time limit for a connection, including name resolution and TLS. */
  readonly connectMs: number;
  /** Finds the addresses of a host name. */
  readonly lookup: LookupFunction;
  /**
   * The largest number of connections to one origin, separately for requests that move money and for all others. Further requests wait
   * within their own time limit.
   */
  readonly maxConnections: number;
  /** Certificates in PEM form that are trusted besides the usual authorities. */
  readonly extraCertificates?: string;
}

/**
 * The most bytes that are read after a request, twice the longest answer. Informational responses, blank lines and chunk
 * headers are not part of a body. A wallet that sends them without end would use a whole CPU and delay all other wallets.
 */
const maxReadBytes = 2 * 1024 * 1024;

/** The requests that move money. A wallet may have no way to ask later whether it got one. */
const movesMoney: ReadonlySet<ExchangePurpose> = new Set(['initiate', 'reverse']);

/** Headers that describe a message and contain no credentials. */
const keptHeaders: ReadonlySet<string> = new Set([
  'accept',
  'content-encoding',
  'content-length',
  'content-type',
  'date',
  'location',
  'retry-after',
  'server',
  'x-content-hash',
  'x-correlationid',
  'x-date',
  'x-records-available-count',
  'x-records-returned-count',
  'x-request-id',
]);

/** The headers to store, each cut to 512 characters. */
export function keepHeaders(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
): Record<string, string> {
  const stored: Record<string, string> = {};
  for (const name of keptHeaders) {
    const value = headers[name];
    const text = typeof value === 'string' ? value : value?.[0];
    if (text !== undefined) stored[name] = text.slice(0, 512);
  }
  return stored;
}

/**
 * The HTTP client of one wallet, with its own connections. It follows no redirects, decompresses no answers, and sends nothing
 * twice. In addition to undici, it reports whether any byte of a failed request was sent. That decides whether money may have moved.
 *
 * A request that moves money gets a new connection. The wallet may close a kept-alive connection while the request is being written.
 * The client could not tell whether that request arrived. Other requests are repeated later, so they reuse connections.
 */
export class WalletHttp {
  readonly #kept: Agent;
  readonly #new: Agent;
  readonly #now: () => Date;

  constructor(settings: WalletHttpSettings, now: () => Date) {
    this.#now = now;
    const options: Agent.Options = {
      connections: settings.maxConnections,
      connect: limitReading(
        buildConnector({
          timeout: settings.connectMs,
          lookup: settings.lookup,
          allowH2: false,
          ...(settings.extraCertificates === undefined
            ? {}
            : { ca: [...rootCertificates, settings.extraCertificates] }),
        }),
      ),
      // HTTP/2 multiplexes requests, so the check whether a request was sent would differ there.
      allowH2: false,
      // The signal carries the only time limit of a call.
      headersTimeout: 0,
      bodyTimeout: 0,
    };
    this.#kept = new Agent({ ...options, pipelining: 1 });
    // Each connection closes after one request.
    this.#new = new Agent({ ...options, pipelining: 0 });
  }

  /** Sends a request and reads the whole answer, until `signal` aborts. Never rejects. */
  async exchange(
    request: WalletRequest,
    signal: AbortSignal,
  ): Promise<{ readonly reply: WalletReply; readonly exchange: RawExchange }> {
    const startedAt = this.#now();
    const span = beginWalletSpan(request);
    const { reply, seen } = await runInSpan(span, () => this.#send(request, signal));
    endWalletSpan(span, reply);
    return { reply, exchange: exchangeOf(request, reply, seen, startedAt, this.#now()) };
  }

  /** Aborts every running exchange and closes the connections. */
  async close(): Promise<void> {
    const reason = new DOMException('the connector was closed', 'AbortError');
    await Promise.all([this.#kept.destroy(reason), this.#new.destroy(reason)]);
  }

  #send(request: WalletRequest, signal: AbortSignal): Promise<{ reply: WalletReply; seen: Seen }> {
    return new Promise((resolve) => {
      const call = createCall(request.maxAnswerBytes, (reply, seen) => {
        signal.removeEventListener('abort', stop);
        resolve({ reply, seen });
      });
      const stop = () => call.stop(signal.reason);
      if (signal.aborted) {
        stop();
        return;
      }
      signal.addEventListener('abort', stop);
      try {
        const agent = movesMoney.has(request.purpose) ? this.#new : this.#kept;
        agent.dispatch(
          {
            origin: request.url.origin,
            path: request.url.pathname + request.url.search,
            method: request.method,
            headers: withTraceparent(request.headers),
            body: request.body ?? null,
          },
          call.handler,
        );
      } catch (error) {
        call.fail(error);
      }
    });
  }
}

/** The wallet sent `maxReadBytes` after a request. */
class EndlessAnswerError extends Error {}

/** Connections that close when the wallet has sent too much since the latest request. */
const limitReading =
  (connect: buildConnector.connector): buildConnector.connector =>
  (options, done) =>
    connect(options, (...connected: Parameters<buildConnector.Callback>) => {
      const [error, socket] = connected;
      if (error === null) limitBytes(socket);
      done(...connected);
    });

function limitBytes(socket: Socket): void {
  let written = 0;
  let readBefore = 0;
  socket.on('readable', () => {
    if (socket.bytesWritten !== written) {
      written = socket.bytesWritten;
      readBefore = socket.bytesRead;
    }
    if (socket.bytesRead - readBefore > maxReadBytes)
      socket.destroy(new EndlessAnswerError(`the wallet sent more than ${maxReadBytes} bytes`));
  });
}

/** Follows one request through undici. Calls `onEnd` once, with the answer or with a failure that says whether a part of it was sent. */
function createCall(maxAnswerBytes: number, onEnd: (reply: WalletReply, seen: Seen) => void) {
  const seen: Seen = { chunks: [] };
  let length = 0;
  let controller: Dispatcher.DispatchController | undefined;
  let isOver = false;

  const end = (reply: WalletReply): void => {
    if (isOver) return;
    isOver = true;
    onEnd(reply, seen);
  };
  /** The failure must be decided before the controller aborts, because the abort reports an error of its own. */
  const fail = (error: unknown): void => end(failedReply(controller !== undefined, error));
  const stop = (reason: unknown): void => {
    fail(reason);
    controller?.abort(asError(reason));
  };
  const refuse = (): void => {
    const detail = `the answer is longer than ${maxAnswerBytes} bytes`;
    end({ kind: 'lost', why: 'answer_too_large', detail });
    controller?.abort(new Error('answer too large'));
  };
  const handler: Dispatcher.DispatchHandler = {
    // undici calls this when it has a connection and is about to write the request. Aborting here writes nothing. So a
    // request that was cancelled while it waited, or that undici passes in a second time, is not sent.
    onRequestStart(started) {
      if (isOver || controller !== undefined) started.abort(new Error('aborted before it was sent'));
      else controller = started;
    },
    onResponseStart(_controller, status, headers) {
      if (status < 200) return;
      seen.status = status;
      seen.headers = firstValues(headers);
      if (Number(seen.headers['content-length']) > maxAnswerBytes) refuse();
    },
    onResponseData(_controller, chunk) {
      if (isOver) return;
      seen.chunks.push(chunk);
      length += chunk.length;
      if (length > maxAnswerBytes) refuse();
    },
    onResponseEnd() {
      const { status, headers = {}, chunks } = seen;
      if (status === undefined) fail(new Error('the answer had no status'));
      else end({ kind: 'answered', status, headers, body: Buffer.concat(chunks) });
    },
    onResponseError(_controller, error) {
      fail(error);
    },
  };
  return { handler, fail, stop };
}

/** The received part of an answer. */
interface Seen {
  status?: number;
  headers?: Record<string, string>;
  chunks: Buffer[];
}

function firstValues(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name.toLowerCase(),
      (typeof value === 'string' ? value : value?.[0]) ?? '',
    ]),
  );
}

/** The abort reason for undici, which requires an Error. */
const asError = (reason: unknown): Error =>
  reason instanceof Error ? reason : new Error(failureText(reason));

function failedReply(begun: boolean, reason: unknown): WalletReply {
  const name = stringOf(reason, 'name');
  if (reason instanceof EndlessAnswerError)
    return { kind: 'lost', why: 'answer_too_large', detail: reason.message };
  const stopped = name === 'TimeoutError' ? 'timeout' : name === 'AbortError' ? 'aborted' : undefined;
  const detail = failureText(reason);
  return begun
    ? { kind: 'lost', why: stopped ?? 'connection_lost', detail }
    : { kind: 'not_sent', why: stopped ?? 'no_connection', detail };
}

/** Node's and OpenSSL's error codes when the certificate of a server is not accepted. */
const certificateErrors = /^(?:CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERR_TLS_CERT_)/;

/** The code and the message of a failure, without any sent data. */
function failureText(reason: unknown): string {
  const code = stringOf(reason, 'code') || stringOf(reason, 'name');
  const message = stringOf(reason, 'message');
  if (!certificateErrors.test(code)) return `${code}: ${message}`.slice(0, 256);
  // The text after the semicolon is advice about Node's own options.
  const [problem = ''] = message.split(';');
  const advice = "check the wallet's address and this machine's clock, and ask the provider";
  return `${code}: the certificate of the wallet's server is not accepted: ${advice} (${problem})`.slice(
    0,
    256,
  );
}

/** Checks the value instead of its class, because the reason of an abort can be any value. */
function stringOf(reason: unknown, property: 'name' | 'code' | 'message'): string {
  if (typeof reason !== 'object' || reason === null || !(property in reason)) return '';
  const value: unknown = Reflect.get(reason, property);
  return typeof value === 'string' ? value : '';
}

function exchangeOf(
  request: WalletRequest,
  reply: WalletReply,
  seen: Seen,
  startedAt: Date,
  endedAt: Date,
): RawExchange {
  const { url, secrets } = request;
  return {
    purpose: request.purpose,
    method: request.method,
    url: maskBody(url.origin + url.pathname + url.search, secrets),
    requestHeaders: keepHeaders(request.headers),
    requestBody: maskBody(request.body ?? '', secrets),
    ...(seen.status === undefined ? {} : { status: seen.status }),
    responseHeaders: keepHeaders(seen.headers ?? {}),
    responseBody: maskBody(beginningOfBody(seen.chunks), secrets),
    startedAt,
    endedAt,
    ...(reply.kind === 'answered' ? {} : { problem: `${reply.why}: ${reply.detail}` }),
  };
}

/** The beginning of a body as text, for any bytes. */
function beginningOfBody(chunks: readonly Buffer[]): string {
  const firstChunks: Buffer[] = [];
  let length = 0;
  for (const chunk of chunks) {
    if (length > 4 * keptBodyLength) break;
    firstChunks.push(chunk);
    length += chunk.length;
  }
  return Buffer.concat(firstChunks)
    .subarray(0, 4 * keptBodyLength)
    .toString('utf8')
    .replaceAll('\0', '\uFFFD');
}
