import { apiErrorOf, ConnectionError, TimedOutError, UnexpectedAnswerError } from './errors.ts';
import { pause, pauseBeforeRepeat } from './retries.ts';
import { adviceOn401 } from './settings.ts';
import type { Connection } from './settings.ts';
import type { ErrorDetail } from './types.ts';
import { version } from './version.ts';

export interface CallOptions {
  /** Ends the call early. The request may have been carried out all the same. */
  readonly signal?: AbortSignal;
  /** Sent as X-Request-Id, and found in the gateway's logs. A new one by default. */
  readonly requestId?: string;
}

export interface Call extends CallOptions {
  readonly path: string;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
  /** Added to the time for an answer. */
  readonly waitSeconds?: number;
}

export interface Answer {
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: Headers;
}

/** Sends a request, and repeats it while that is useful. @throws GatehouseError, or the reason of the caller's signal */
export async function call(connection: Connection, request: Call): Promise<Answer> {
  const requestId = request.requestId ?? crypto.randomUUID();
  for (let repeats = 0; ; repeats += 1) {
    try {
      return await send(connection, request, requestId);
    } catch (error) {
      request.signal?.throwIfAborted();
      const pauseMs = pauseBeforeRepeat(error, repeats, connection, Math.random());
      if (pauseMs === undefined) throw error;
      await pause(pauseMs, request.signal);
    }
  }
}

async function send(connection: Connection, request: Call, requestId: string): Promise<Answer> {
  const url = connection.baseUrl + request.path;
  const seconds = connection.timeoutSeconds + (request.waitSeconds ?? 0);
  const timeout = AbortSignal.timeout(seconds * 1000);
  let response: Response;
  let text: string;
  try {
    response = await connection.send(url, {
      method: 'POST',
      headers: {
        ...request.headers,
        apiKey: connection.apiKey,
        'content-type': 'application/json',
        'x-request-id': requestId,
        'user-agent': `gatehouse-client-typescript/${version}`,
      },
      body: JSON.stringify(request.body),
      // A redirected POST would become a GET.
      redirect: 'manual',
      signal: request.signal === undefined ? timeout : AbortSignal.any([timeout, request.signal]),
    });
    text = await response.text();
  } catch (error) {
    if (timeout.aborted)
      throw new TimedOutError(`No answer from ${url} within ${seconds} seconds`, requestId, error);
    throw new ConnectionError(`No answer from ${url}: ${reasonOf(error)}`, requestId, error);
  }
  return read(connection, response, text, requestId);
}

function read(connection: Connection, response: Response, text: string, sentId: string): Answer {
  const { status, headers } = response;
  const requestId = headers.get('x-request-id') ?? sentId;
  const body = parse(text);
  if (response.ok) {
    if (body !== undefined) return { body, headers };
    throw new UnexpectedAnswerError(
      `${connection.baseUrl} answered ${status} without JSON: is it a gateway?`,
      status,
      requestId,
    );
  }
  if (response.type === 'opaqueredirect' || (status >= 300 && status < 400))
    throw new UnexpectedAnswerError(
      `${connection.baseUrl} redirects requests to another address: use that one`,
      status,
      requestId,
    );
  const answer = {
    status,
    apiMessage: typeof body?.['message'] === 'string' ? body['message'] : response.statusText || 'no message',
    details: detailsOf(body?.['details']),
    requestId,
    retryAfter: secondsUntil(headers.get('retry-after')),
  };
  throw apiErrorOf(answer, status === 401 ? adviceOn401(connection) : undefined);
}

function parse(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

function detailsOf(value: unknown): readonly ErrorDetail[] {
  if (!Array.isArray(value)) return [];
  return value.filter(
    (each: unknown): each is ErrorDetail =>
      typeof each === 'object' && each !== null && 'field' in each && 'issue' in each,
  );
}

/** Retry-After is in seconds, or a date. */
function secondsUntil(retryAfter: string | null): number | undefined {
  if (retryAfter === null) return undefined;
  if (/^[0-9]+$/.test(retryAfter)) return Number(retryAfter);
  const ms = Date.parse(retryAfter) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, Math.ceil(ms / 1000));
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message : String(cause);
}
