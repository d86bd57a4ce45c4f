import { createServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { listenLocally } from '../../support/listen-locally.ts';

/** A request that arrived completely. */
export interface SeenRequest {
  readonly method: string;
  /** Path and query as sent. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** The answer to one request, if any: with the HTTP library, or with raw bytes on the socket. */
export type Behaviour = (reply: {
  readonly response: ServerResponse;
  readonly socket: Socket;
  readonly request: SeenRequest;
}) => void;

interface Script {
  readonly route: RegExp;
  readonly behaviours: Behaviour[];
}

/** A real server on a port of its own that answers each request as the test has scripted. */
export async function startScriptedWallet() {
  const requests: SeenRequest[] = [];
  const scripts: Script[] = [];
  const waiting = new Set<(request: SeenRequest) => void>();
  const server = createServer((message, response) => {
    void readRequest(message).then((request) => {
      if (request === undefined) return;
      requests.push(request);
      const script = scripts.find(({ route }) => route.test(nameOf(request)));
      const behave = script === undefined ? notScripted : nextBehaviour(script);
      behave({ response, socket: message.socket, request });
      for (const tell of waiting) tell(request);
    });
  });
  const { origin, close } = await listenLocally(server);
  let closing: Promise<void> | undefined;

  return {
    origin,
    close: () => (closing ??= close()),
    /** Everything that arrived, in order. */
    requests: requests as readonly SeenRequest[],
    /**
     * Sets the answers for a route, such as "POST /path". The pattern matches the whole text, without the query. Each request takes the
     * next answer, and all further requests the last one. Replaces earlier answers of the route.
     */
    on: (route: RegExp, ...behaviours: readonly [Behaviour, ...Behaviour[]]): void => {
      scripts.unshift({ route: whole(route), behaviours: [...behaviours] });
    },
    requestsTo: (route: RegExp): readonly SeenRequest[] =>
      requests.filter((request) => whole(route).test(nameOf(request))),
    /** Resolves when a request to the route has arrived; one that has arrived already does not count. */
    nextRequest: (route: RegExp): Promise<SeenRequest> =>
      new Promise((resolve) => {
        const tell = (request: SeenRequest) => {
          if (!whole(route).test(nameOf(request))) return;
          waiting.delete(tell);
          resolve(request);
        };
        waiting.add(tell);
      }),
  };
}
export type ScriptedWallet = Awaited<ReturnType<typeof startScriptedWallet>>;

const whole = (route: RegExp): RegExp => new RegExp(`^(?:${route.source})$`, route.flags);

const nameOf = ({ method, target }: SeenRequest): string => `${method} ${target.split('?')[0]}`;

const notScripted: Behaviour = ({ response, request }) => {
  response.writeHead(599, { 'content-type': 'text/plain' }).end(`${nameOf(request)} is not in the script`);
};

function nextBehaviour({ behaviours }: Script): Behaviour {
  const next = behaviours.length > 1 ? behaviours.shift() : behaviours[0];
  return next ?? notScripted;
}

/** Undefined when the client disconnected before the whole request had arrived. */
async function readRequest(message: IncomingMessage): Promise<SeenRequest | undefined> {
  const { method = '', url: target = '', headers } = message;
  const body = await text(message).catch(() => undefined);
  return body === undefined ? undefined : { method, target, headers, body };
}

/** Answers with JSON, or with an empty body if it is undefined. */
export const json =
  (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Behaviour =>
  ({ response }) => {
    response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(body === undefined ? '' : JSON.stringify(body));
  };

/** Answers with a body of any kind. */
export const answer =
  (
    status: number,
    contentType: string,
    body: string | Buffer,
    headers: Readonly<Record<string, string>> = {},
  ): Behaviour =>
  ({ response }) => {
    response.writeHead(status, { 'content-type': contentType, ...headers }).end(body);
  };
