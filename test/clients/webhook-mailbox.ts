import { createServer } from 'node:http';
import { listenLocally } from '../support/listen-locally.ts';

/** A webhook as it arrived, for tests in every language. */
interface ReceivedWebhook {
  readonly headers: Readonly<Record<string, string>>;
  readonly body_base64: string;
}

/** A merchant's server that keeps the webhooks of each path. `GET` of the path returns those that have arrived. */
export interface WebhookMailbox {
  readonly origin: string;
  readonly close: () => Promise<void>;
}

export async function startWebhookMailbox(): Promise<WebhookMailbox> {
  const received = new Map<string, ReceivedWebhook[]>();
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    const arrived = received.get(path) ?? [];
    received.set(path, arrived);
    if (request.method === 'GET') {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(arrived));
      return;
    }
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const headers = Object.entries(request.headersDistinct).map(([name, values = []]) => [
        name,
        values.join(', '),
      ]);
      arrived.push({
        headers: Object.fromEntries(headers) as Record<string, string>,
        body_base64: Buffer.concat(chunks).toString('base64'),
      });
      response.writeHead(204).end();
    });
  });
  return listenLocally(server);
}
