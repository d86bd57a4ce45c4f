import { createServer, request as startRequest } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { CutMoment } from '../support/cutting-proxy.ts';
import { listenLocally } from '../support/listen-locally.ts';

/** An HTTP proxy that holds the requests of chosen paths, or their answers, until a test lets them go. */
export interface HoldingProxy {
  readonly origin: string;
  /** Holds the next request whose path contains this text. The server receives it only with `before the answer`. */
  readonly hold: (text: string, moment: CutMoment) => void;
  readonly isHeld: (text: string) => boolean;
  /** Sends a held answer. */
  readonly pass: (text: string) => void;
  /** Cuts the connections of everything that is held, so that its answer is lost. Returns their number. */
  readonly loseHeld: () => number;
  readonly close: () => Promise<void>;
}

interface Hold {
  readonly moment: CutMoment;
  /** The held request; undefined before it arrives. */
  held?: { readonly pass: () => void; readonly lose: () => void };
}

/** Starts a proxy. `target` is read for each request, because a restarted server may have another address. */
export async function startHoldingProxy(target: () => string): Promise<HoldingProxy> {
  const holds = new Map<string, Hold>();
  const serve = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    const lose = (): void => void message.socket.destroy();
    const [, found] =
      [...holds].find(([text, { held }]) => held === undefined && message.url?.includes(text) === true) ?? [];
    const body = await buffer(message);
    if (found?.moment === 'before the server') {
      found.held = { pass: lose, lose };
      return;
    }
    const { method, headers, url = '/' } = message;
    const forwarded = startRequest(new URL(url, target()), { method, headers }, (answer) => {
      void buffer(answer).then((bytes) => {
        const pass = (): void => void response.writeHead(answer.statusCode ?? 502, answer.headers).end(bytes);
        if (found === undefined) pass();
        else found.held = { pass, lose };
      }, lose);
    });
    forwarded.on('error', lose);
    forwarded.end(body);
  };
  const server = createServer((message, response) => {
    serve(message, response).catch(() => message.socket.destroy());
  });
  const end = (text: string): Hold['held'] => {
    const { held } = holds.get(text) ?? {};
    holds.delete(text);
    return held;
  };
  return {
    ...(await listenLocally(server)),
    hold: (text, moment) => void holds.set(text, { moment }),
    isHeld: (text) => holds.get(text)?.held !== undefined,
    pass: (text) => end(text)?.pass(),
    loseHeld() {
      const held = [...holds.keys()].map(end).filter((each) => each !== undefined);
      for (const { lose } of held) lose();
      return held.length;
    },
  };
}
