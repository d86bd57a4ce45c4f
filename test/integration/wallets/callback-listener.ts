import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { listenLocally } from '../../support/listen-locally.ts';
import type { CallbackHint, CallbackRequest } from '../../../src/wallets/connector/wallet-connector.ts';
import type { SeenCallback } from './connector-conformance.ts';

/** Receives callbacks as Gatehouse does, and keeps their notes by our id. */
export async function startCallbackListener(parse: (callback: CallbackRequest) => CallbackHint) {
  const seen = new Map<string, { readonly callback: SeenCallback; readonly hint: CallbackHint }[]>();
  const server = createServer((message, response) => {
    void (async () => {
      const body = await buffer(message);
      const [, , requestId = ''] = (message.url ?? '').split('/').map(decodeURIComponent);
      const { method = '', headers } = message;
      const hint = parse({ method, url: `/callbacks/${requestId}/…`, headers, body, receivedAt: new Date() });
      const callback = { method, headers, raw: body.toString() };
      seen.set(requestId, [...(seen.get(requestId) ?? []), { callback, hint }]);
      response.writeHead(hint.reply.status).end(hint.reply.body);
    })();
  });
  const { origin, close } = await listenLocally(server);
  const of = (requestId: string) => seen.get(requestId) ?? [];
  return {
    /** Callbacks go to `<baseUrl>/<our id>/<token>`. */
    baseUrl: `${origin}/callbacks`,
    callbacksOf: (requestId: string): readonly SeenCallback[] =>
      of(requestId).map(({ callback }) => callback),
    notesOf: (requestId: string): readonly string[] => of(requestId).flatMap(({ hint }) => hint.note ?? []),
    close,
  };
}
