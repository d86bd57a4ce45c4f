import { Pool } from 'undici';

/** The part of a router that the mover uses. */
export interface Gate {
  /** Lets new requests of the moving merchant wait. Resolves when every request before them was answered. */
  readonly hold: () => Promise<void>;
  readonly release: (to: Side) => void;
}

export type Side = 'source' | 'target';

export interface ApiRequest {
  readonly path: string;
  readonly apiKey: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, string>>;
}

export interface ApiAnswer {
  readonly status: number;
  readonly text: string;
}

/** The balancer before the facades of both databases. It knows where the moving merchant is; all others stay. */
export interface Router extends Gate {
  /** @throws when no facade answers, or the request has waited too long */
  readonly send: (request: ApiRequest) => Promise<ApiAnswer>;
  readonly sendTo: (side: Side, request: ApiRequest) => Promise<ApiAnswer>;
  /** How many requests have waited, and for how long the gate was closed at most. */
  readonly held: () => { readonly requests: number; readonly longestMs: number };
  readonly close: () => Promise<void>;
}

const connections = 256;
const mostHeldMs = 2_000;

/** @param homes - the database of each API key before the move @param movingKey - the API key of the moving merchant */
export function openRouter(
  facades: Readonly<Record<Side, string>>,
  homes: ReadonlyMap<string, Side>,
  movingKey: string,
): Router {
  const pools = {
    source: new Pool(facades.source, { connections }),
    target: new Pool(facades.target, { connections }),
  };
  let home: Side = 'source';
  let opened: PromiseWithResolvers<void> | undefined;
  let closedAtMs = 0;
  let running = 0;
  let isIdle: (() => void) | undefined;
  const held = { requests: 0, longestMs: 0 };

  const sendTo = async (side: Side, { path, apiKey, headers, body }: ApiRequest): Promise<ApiAnswer> => {
    const answer = await pools[side].request({
      method: 'POST',
      path,
      headers: { apikey: apiKey, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    return { status: answer.statusCode, text: await answer.body.text() };
  };
  const gate = () => opened?.promise;
  const passGate = async (): Promise<void> => {
    if (gate() === undefined) return;
    held.requests += 1;
    const tooLong = AbortSignal.timeout(mostHeldMs);
    const expired = new Promise<never>((_, reject) => {
      tooLong.addEventListener('abort', () => reject(new Error('the request has waited too long')));
    });
    for (let opening = gate(); opening !== undefined; opening = gate())
      await Promise.race([opening, expired]);
  };

  return {
    sendTo,
    async send(request) {
      if (request.apiKey !== movingKey) return sendTo(homes.get(request.apiKey) ?? 'source', request);
      await passGate();
      running += 1;
      try {
        return await sendTo(home, request);
      } finally {
        running -= 1;
        if (running === 0) isIdle?.();
      }
    },
    async hold() {
      if (opened === undefined) closedAtMs = performance.now();
      opened ??= Promise.withResolvers();
      if (running === 0) return;
      await new Promise<void>((resolve) => (isIdle = resolve));
      isIdle = undefined;
    },
    release(to) {
      home = to;
      if (opened === undefined) return;
      held.longestMs = Math.max(held.longestMs, performance.now() - closedAtMs);
      opened.resolve();
      opened = undefined;
      isIdle = undefined;
    },
    held: () => ({ ...held }),
    close: async () => void (await Promise.all([pools.source.close(), pools.target.close()])),
  };
}
