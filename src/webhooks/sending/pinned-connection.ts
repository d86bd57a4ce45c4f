import type { Socket } from 'node:net';
import { Client } from 'undici';
import type { Dispatcher } from 'undici';
import { isError } from '../../platform/error-code.ts';
import type { ConnectPhase, ConnectSettings } from './open-socket.ts';
import { openSocket } from './open-socket.ts';

export interface PinnedRequest {
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** The response, as far as it arrived. */
export interface ReceivedResponse {
  /** 0 without a response. */
  readonly status: number;
  /** The response header; empty when absent. */
  readonly location: string;
  /** The response header; empty when absent. */
  readonly retryAfter: string;
  /** The first bytes of the response body, unmodified. */
  readonly body: Buffer;
  /** Why the response is incomplete; absent when it is complete or was read up to the limit. */
  readonly failure?: { readonly error: unknown };
}

const maxReadBytes = 16 * 1024;
const maxKeptBytes = 2 * 1024;
const maxHeaderBytes = 16 * 1024;
/**
 * The limit for all bytes of a response. Informational responses, blank lines, a reason phrase and chunk headers count
 * towards neither headers nor body. A receiver that sends them without end would keep a processor busy.
 */
const maxResponseBytes = 256 * 1024;
/** Shorter than five seconds, after which many servers close an idle connection without notice. */
const idleMs = 4_000;
/** The upper limit for a server's keep-alive offer. */
const maxIdleMs = 30_000;

/** The receiver sent `maxResponseBytes` without the end of its response headers. */
export class EndlessHeadersError extends Error {}

/**
 * One HTTP/1.1 connection to an address that was just checked. It never reconnects. A new connection checks the address
 * again. It carries one request at a time. It follows no redirects, decompresses nothing and never repeats a request.
 */
export class PinnedConnection {
  readonly #url: URL;
  readonly #client: Client;
  readonly #closing = new AbortController();
  readonly #onClosed: () => void;
  #hasTriedToConnect = false;
  #socket: Socket | undefined;
  #phase: ConnectPhase | 'connected' = 'resolving';
  #remoteAddress = '';
  /** The bytes that were read before the present response. */
  #bytesBefore = 0;
  #onTooLong = () => this.destroy();

  /** Connects with the first request. `onClosed` is called when an established connection closes. */
  constructor(url: URL, settings: ConnectSettings, onClosed: () => void) {
    this.#url = url;
    this.#onClosed = onClosed;
    this.#client = new Client(url.origin, {
      connect: (_options, done) => {
        this.#connect(settings).then(
          (socket) => done(null, socket),
          (error: unknown) => done(isError(error) ? error : new Error(String(error)), null),
        );
      },
      allowH2: false,
      pipelining: 1,
      maxHeaderSize: maxHeaderBytes,
      keepAliveTimeout: idleMs,
      keepAliveMaxTimeout: maxIdleMs,
      // The signal carries the one time limit of a request.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  /** The phase that the connection reached. */
  get phase(): ConnectPhase | 'connected' {
    return this.#phase;
  }

  /** The connected IP address; empty before. */
  get remoteAddress(): string {
    return this.#remoteAddress;
  }

  /** Whether it can carry another request. */
  get isOpen(): boolean {
    return this.#socket?.destroyed === false && !this.#closing.signal.aborted;
  }

  /**
   * Posts, and reads the response to its end, to 16 KiB of its body, or to 256 KiB in all. At these limits, the connection
   * closes and the status counts. It also closes when `signal` aborts. Never rejects.
   */
  post(request: PinnedRequest, signal: AbortSignal): Promise<ReceivedResponse> {
    return new Promise((resolve) => {
      let answer = { status: 0, location: '', retryAfter: '' };
      const chunks: Buffer[] = [];
      let length = 0;

      const finish = (failure?: { readonly error: unknown }) => {
        signal.removeEventListener('abort', stop);
        const body = Buffer.concat(chunks).subarray(0, maxKeptBytes);
        resolve({ ...answer, body, ...(failure === undefined ? {} : { failure }) });
      };
      const stop = () => {
        finish({ error: signal.reason });
        this.destroy();
      };
      this.#bytesBefore = this.#socket?.bytesRead ?? 0;
      this.#onTooLong = () => {
        finish(answer.status === 0 ? { error: new EndlessHeadersError() } : undefined);
        this.destroy();
      };
      const handler: Dispatcher.DispatchHandler = {
        onRequestStart() {},
        onResponseStart(_controller, status, headers) {
          // A status below 200 is informational. The response follows.
          if (status < 200) return;
          answer = {
            status,
            location: firstValue(headers['location']),
            retryAfter: firstValue(headers['retry-after']),
          };
        },
        onResponseData: (_controller, chunk) => {
          if (length >= maxReadBytes) return;
          chunks.push(chunk);
          length += chunk.length;
          if (length < maxReadBytes) return;
          finish();
          this.destroy();
        },
        onResponseEnd: () => finish(),
        onResponseError: (_controller, error) => finish({ error }),
      };
      if (signal.aborted) {
        stop();
        return;
      }
      signal.addEventListener('abort', stop);
      try {
        this.#client.dispatch({ origin: this.#url.origin, method: 'POST', ...request }, handler);
      } catch (error) {
        finish({ error });
      }
    });
  }

  /** Closes the connection, even during a request. */
  destroy(): void {
    const error = new DOMException('the connection was closed', 'AbortError');
    this.#closing.abort(error);
    void this.#client.destroy(error);
  }

  async #connect(settings: ConnectSettings): Promise<Socket> {
    // undici reconnects for a request that arrives just after the connection closed.
    if (this.#hasTriedToConnect)
      throw Object.assign(new Error('the connection was closed'), { code: 'ECONNRESET' });
    this.#hasTriedToConnect = true;
    const socket = await openSocket(this.#url, settings, this.#closing.signal, (phase) => {
      this.#phase = phase;
    });
    this.#phase = 'connected';
    this.#remoteAddress = socket.remoteAddress ?? '';
    this.#socket = socket;
    this.#bytesBefore = socket.bytesRead;
    socket.on('readable', () => {
      if (socket.bytesRead - this.#bytesBefore > maxResponseBytes) this.#onTooLong();
    });
    socket.once('close', () => {
      void this.#client.destroy();
      this.#onClosed();
    });
    return socket;
  }
}

const firstValue = (value: string | readonly string[] | undefined): string =>
  (typeof value === 'string' ? value : value?.[0]) ?? '';
