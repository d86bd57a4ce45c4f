import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { listenLocally } from '../support/listen-locally.ts';

/** A request as a client sent it. */
export interface SeenRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The status of the answer; 0 when the client got none. */
  answered: number;
}

/**
 * A gateway with faults, in front of a real one. The base URL of a client chooses the fault and names the run:
 * `http://127.0.0.1:1234/<fault>/<run>`. A base URL with a path also shows that clients keep it.
 */
export interface FaultyGateway {
  readonly origin: string;
  readonly close: () => Promise<void>;
}

const seenHeaders = ['idempotency-key', 'x-request-id', 'prefer', 'user-agent'];

interface Exchange {
  readonly request: IncomingMessage;
  readonly body: Buffer;
  readonly response: ServerResponse;
  /** How many requests of this run had the same path before. */
  readonly earlier: number;
  readonly forward: (headers?: Readonly<Record<string, string | undefined>>) => Promise<Response>;
}

const answer = (response: ServerResponse, status: number, body: object | string, headers = {}): void => {
  const isText = typeof body === 'string';
  response.writeHead(status, { 'content-type': isText ? 'text/html' : 'application/json', ...headers });
  response.end(isText ? body : JSON.stringify(body));
};

async function pass(
  response: ServerResponse,
  from: Response,
  without: readonly string[] = [],
): Promise<void> {
  const headers = [...from.headers].filter(
    ([name]) => !['transfer-encoding', 'connection', 'content-length', ...without].includes(name),
  );
  response.writeHead(from.status, Object.fromEntries(headers)).end(Buffer.from(await from.arrayBuffer()));
}

const faults: Readonly<Record<string, (exchange: Exchange) => Promise<void> | void>> = {
  none: async ({ response, forward }) => pass(response, await forward()),
  // The gateway executes the request, and the answer is lost.
  'first-answer-lost': async ({ response, forward, earlier }) => {
    const answered = await forward();
    if (earlier === 0) response.destroy();
    else await pass(response, answered);
  },
  // The gateway executes the request, the answer is lost, and the repeat is refused.
  'answer-lost-then-limited': async ({ response, forward, earlier }) => {
    const answered = earlier === 1 ? undefined : await forward();
    if (answered === undefined) answer(response, 429, { code: 429, message: 'Too many requests' });
    else if (earlier === 0) response.destroy();
    else await pass(response, answered);
  },
  'first-two-broken': async ({ response, forward, earlier }) =>
    earlier < 2
      ? answer(response, 500, { code: 500, message: 'Internal server error' })
      : pass(response, await forward()),
  'first-limited': async ({ response, forward, earlier }) =>
    earlier === 0
      ? answer(response, 429, { code: 429, message: 'Too many requests' }, { 'retry-after': '1' })
      : pass(response, await forward()),
  'limited-for-minutes': ({ response }) =>
    answer(response, 429, { code: 429, message: 'Too many requests' }, { 'retry-after': '300' }),
  'limited-without-time': ({ response }) =>
    answer(response, 429, { code: 429, message: 'Too many requests' }),
  'unavailable-for-a-while': ({ response }) =>
    answer(response, 503, { code: 503, message: 'Service unavailable' }, { 'retry-after': '30' }),
  'always-unavailable': ({ response }) => answer(response, 503, '<h1>Service unavailable</h1>'),
  'conflicting-key': ({ response }) =>
    answer(response, 422, { code: 422, message: 'Unprocessable' }, { 'x-request-id': 'of-the-gateway' }),
  silent: () => undefined,
  // No silence is long, and the whole answer takes five seconds.
  dripping: ({ response }) => {
    let left = 50;
    response.writeHead(200, { 'content-type': 'application/json' });
    const timer = setInterval(() => (left-- > 0 ? response.write(' ') : response.end('{}')), 100);
    response.on('close', () => clearInterval(timer));
  },
  'another-site': ({ response }) => answer(response, 200, '<h1>Welcome</h1>'),
  'another-json': ({ response }) => answer(response, 200, { message: 'Welcome', data: {} }),
  redirecting: ({ response }) => answer(response, 302, '', { location: 'https://elsewhere.example/' }),
  'never-waits': async ({ response, forward }) =>
    pass(response, await forward({ prefer: undefined }), ['preference-applied']),
};

/** `GET /requests/<run>` returns what a run has sent. */
export async function startFaultyGateway(gateway: string): Promise<FaultyGateway> {
  const runs = new Map<string, SeenRequest[]>();
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const [, first = '', run = '', path = ''] = /^\/([^/]+)\/([^/]+)(\/.*)?$/.exec(request.url ?? '') ?? [];
    const seen = runs.get(run) ?? [];
    runs.set(run, seen);
    if (first === 'requests') {
      answer(response, 200, seen);
      return;
    }
    const fault = faults[first];
    if (fault === undefined) {
      answer(response, 500, { code: 500, message: `no fault ${first}` });
      return;
    }
    const body = await buffer(request);
    const earlier = seen.filter((each) => each.path === path).length;
    const headers = seenHeaders.flatMap((name) => {
      const value = request.headers[name];
      return typeof value === 'string' ? [[name, value] as const] : [];
    });
    const seenRequest: SeenRequest = { path, headers: Object.fromEntries(headers), answered: 0 };
    seen.push(seenRequest);
    response.on('finish', () => (seenRequest.answered = response.statusCode));
    const forward = (changed: Readonly<Record<string, string | undefined>> = {}): Promise<Response> => {
      const own = { ...request.headers, host: undefined, connection: undefined, ...changed };
      const sent = Object.entries(own).filter((entry): entry is [string, string] => {
        const [name, value] = entry;
        return typeof value === 'string' && !['content-length', 'accept-encoding'].includes(name);
      });
      return fetch(gateway + path, { method: 'POST', headers: sent, body });
    };
    return fault({ request, body, response, earlier, forward });
  };
  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  return listenLocally(server);
}
