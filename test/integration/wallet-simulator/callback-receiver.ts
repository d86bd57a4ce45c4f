import { createServer } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import { listenLocally } from '../../support/listen-locally.ts';
import { waitUntil } from '../../support/wait-until.ts';

interface ReceivedCallback {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly raw: string;
  /** The body, an empty object when it is not JSON. */
  readonly json: Readonly<Record<string, unknown>>;
}

/** Listens for callbacks, and answers each when `answer` resolves, with its status. */
export async function startCallbackReceiver(
  answer: (callback: ReceivedCallback) => number | Promise<number> = () => 204,
) {
  const received: ReceivedCallback[] = [];
  const server = createServer((request, response) => {
    void text(request).then(async (raw) => {
      const { method = '', url: path = '', headers } = request;
      const isJson = headers['content-type']?.startsWith('application/json') === true;
      const json = isJson ? (JSON.parse(raw) as Record<string, unknown>) : {};
      const callback = { method, path, headers, raw, json };
      received.push(callback);
      response.writeHead(await answer(callback)).end();
    });
  });
  const { origin, close } = await listenLocally(server);
  return {
    url: `${origin}/callbacks/1`,
    /** Everything so far. */
    received: received as readonly ReceivedCallback[],
    /** Waits until this many have arrived in total. */
    wait: (count: number): Promise<readonly ReceivedCallback[]> =>
      waitUntil(`${count} callbacks came`, () => received.length >= count && received),
    close,
  };
}
export type CallbackReceiver = Awaited<ReturnType<typeof startCallbackReceiver>>;
