import {
  apiErrorOf,
  ConfigurationError,
  ConnectionError,
  GatehouseError,
  TimedOutError,
  UnexpectedAnswerError,
} from './errors.ts';
import { pause, pauseBeforeRepeat } from './retries.ts';
import { adviceOn401 } from './settings.ts';
import type { Connection } from './settings.ts';
import type { ErrorDetail } from './types.ts';
import { version } from './version.ts';

export interface CallOptions {
  /** Ends the call early. The request may have been carried out nevertheless. */
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
  /** The end of a wait, as `performance.now()` tells it. No repeat begins after it. */
  readonly endMs?: number;
  /** Whether the body of a success is the result. Otherwise its `data` is. */
  readonly isWholeBody?: boolean;
  /** The texts that the result must have. */
  readonly texts: readonly string[];
}

export interface Answer {
  readonly result: Readonly<Record<string, unknown>>;
  readonly headers: Headers;
}

const longestTimerMs = 2 ** 31 - 1;

/** Sends a request, and repeats it while that is useful. @throws GatehouseError, or the reason of the caller's signal */
export async function call(connection: Connection, request: Call): Promise<Answer> {
  const requestId = request.requestId ?? crypto.randomUUID();
  if (![requestId, ...Object.values(request.headers ?? {})].every((value) => /^[ -~]+$/.test(value)))
    throw new ConfigurationError('A requestId or idempotencyKey is printable ASCII and not empty.');
  const { endMs = Number.POSITIVE_INFINITY } = request;
  let mayHaveHappened = false;
  for (let repeats = 0; ; repeats += 1) {
    try {
      return await send(connection, request, requestId, mayHaveHappened);
    } catch (error) {
      request.signal?.throwIfAborted();
      mayHaveHappened ||= error instanceof GatehouseError && error.mayHaveHappened;
      const pauseMs = pauseBeforeRepeat(error, repeats, connection, Math.random());
      if (pauseMs === undefined || performance.now() + pauseMs >= endMs) throw error;
      await pause(pauseMs, request.signal);
    }
  }
}

async function send(
  connection: Connection,
  request: Call,
  requestId: string,
  mayHaveHappened: boolean,
): Promise<Answer> {
  const url = connection.baseUrl + request.path;
  const { waitSeconds = 0, endMs = Number.POSITIVE_INFINITY } = request;
  const leftSeconds = Math.max(0, endMs - performance.now()) / 1000;
  // The gateway waits for whole seconds, so up to one more than is left.
  const seconds = connection.timeoutSeconds + Math.min(waitSeconds, leftSeconds + 1);
  // Node accepts no fraction, and a longer timer would end at once.
  const timeout = AbortSignal.timeout(Math.min(longestTimerMs, Math.ceil(seconds * 1000)));
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
      throw new TimedOutError(
        `No answer from ${url} within ${Math.ceil(seconds * 1000) / 1000} seconds`,
        requestId,
        error,
      );
    throw new ConnectionError(`No answer from ${url}: ${reasonOf(error)}`, requestId, error);
  }
  const body = objectIn(parse(text));
  const id = response.headers.get('x-request-id') ?? requestId;
  if (response.ok) return readSuccess(connection, request, response, body, id);
  throw errorOf(connection, response, body, id, mayHaveHappened);
}

type JsonObject = Readonly<Record<string, unknown>>;

function readSuccess(
  { baseUrl }: Connection,
  { isWholeBody = false, texts }: Call,
  { status, headers }: Response,
  body: JsonObject | undefined,
  requestId: string,
): Answer {
  const unexpected = (lack: string): UnexpectedAnswerError =>
    new UnexpectedAnswerError(
      `${baseUrl} answered ${status} without ${lack}: is it a gateway?`,
      status,
      requestId,
    );
  if (body === undefined) throw unexpected('JSON');
  const result = isWholeBody ? body : objectIn(body['data']);
  if (result === undefined) throw unexpected('what was asked for (data is no object)');
  const missing = texts.find((name) => typeof result[name] !== 'string');
  if (missing !== undefined) throw unexpected(`what was asked for (${missing} is no text)`);
  return { result, headers };
}

function errorOf(
  connection: Connection,
  response: Response,
  body: JsonObject | undefined,
  requestId: string,
  mayHaveHappened: boolean,
): GatehouseError {
  const { status, headers } = response;
  if (response.type === 'opaqueredirect' || (status >= 300 && status < 400))
    return new UnexpectedAnswerError(
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
    mayHaveHappened: mayHaveHappened || status >= 500,
  };
  return apiErrorOf(answer, status === 401 ? adviceOn401(connection) : undefined);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const objectIn = (value: unknown): JsonObject | undefined =>
  typeof value === 'object' && value !== null ? { ...value } : undefined;

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
