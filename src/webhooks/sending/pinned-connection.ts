import type { Socket } from 'node:net';
import { Client } from 'undici';
import type { Dispatcher } from 'undici';
import { isError } from './error-code.ts';
import type { ConnectPhase, ConnectSettings } from './open-socket.ts';
import { openSocket } from './open-socket.ts';

export interface PinnedRequest {
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** What came back, as far as it came. */
export interface Exchange {
  /** 0 when no answer began. */
  readonly status: number;
  /** The answer's header; empty when there was none. */
  readonly location: string;
  /** The answer's header; empty when there was none. */
  readonly retryAfter: string;
  /** The first bytes of the answer's body, as they were sent. */
  readonly body: Buffer;
  /** Why there is no whole answer; absent when there is one, or as much of it as is read. */
  readonly failure?: { readonly error: unknown };
}

const maxReadBytes = 16 * 1024;
const maxKeptBytes = 2 * 1024;
const maxHeaderBytes = 16 * 1024;
/** Below the five seconds after which many servers close an idle connection without having said so. */
const idleMs = 4_000;
/** However long a server offers to keep one. */
const maxIdleMs = 30_000;

/**
 * One HTTP/1.1 connection, made once: to an address that was looked at right before. When it is gone it stays gone, and
 * the next one looks anew. It carries one request at a time, follows no redirect, unpacks no answer, sends nothing twice.
 */
export class PinnedConnection {
  readonly #url: URL;
  readonly #client: Client;
  readonly #closing = new AbortController();
  readonly #onClosed: () => void;
  #isAsked = false;
  #socket: Socket | undefined;
  #phase: ConnectPhase | 'connected' = 'resolving';
  #remoteAddress = '';

  /** Connects with the first request. `onClosed` is called when a connection that was made is gone. */
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
      // A request has one time limit, over everything, in its signal.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  /** How far it has got. */
  get phase(): ConnectPhase | 'connected' {
    return this.#phase;
  }

  /** The IP address connected to; empty before. */
  get remoteAddress(): string {
    return this.#remoteAddress;
  }

  /** Whether it can carry another request. */
  get isOpen(): boolean {
    return this.#socket?.destroyed === false && !this.#closing.signal.aborted;
  }

  /**
   * Posts, and reads the answer to its end or 16 kB of it: then the connection is closed, and the status counts. It is
   * closed, too, when `signal` says stop. Never rejects.
   */
  post(request: PinnedRequest, signal: AbortSignal): Promise<Exchange> {
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
      const handler: Dispatcher.DispatchHandler = {
        onRequestStart() {},
        onResponseStart(_controller, status, headers) {
          // Before 200 it is an announcement, not an answer.
          if (status < 200) return;
          answer = {
            status,
            location: first(headers['location']),
            retryAfter: first(headers['retry-after']),
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

  /** Closes it, whatever it is doing. */
  destroy(): void {
    const error = new DOMException('the connection was closed', 'AbortError');
    this.#closing.abort(error);
    void this.#client.destroy(error);
  }

  async #connect(settings: ConnectSettings): Promise<Socket> {
    // undici connects again for a request that it was given when the connection had just gone.
    if (this.#isAsked) throw Object.assign(new Error('the connection is gone'), { code: 'ECONNRESET' });
    this.#isAsked = true;
    const socket = await openSocket(this.#url, settings, this.#closing.signal, (phase) => {
      this.#phase = phase;
    });
    this.#phase = 'connected';
    this.#remoteAddress = socket.remoteAddress ?? '';
    this.#socket = socket;
    socket.once('close', () => {
      void this.#client.destroy();
      this.#onClosed();
    });
    return socket;
  }
}

const first = (value: string | readonly string[] | undefined): string =>
  (typeof value === 'string' ? value : value?.[0]) ?? '';
