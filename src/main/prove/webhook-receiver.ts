import { createHmac, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** A webhook that arrived, and how it was answered. */
export interface Exchange {
  readonly eventId: string;
  readonly body: Buffer;
  /** Its position among all arrivals and answers of this receiver. */
  readonly arrival: number;
  /** Undefined when it was not accepted; otherwise the position of the answer. */
  readonly acceptedAt: number | undefined;
  readonly isSigned: boolean;
}

/** The shop's server for webhooks. */
export interface WebhookReceiver {
  readonly port: number;
  readonly exchanges: readonly Exchange[];
  readonly close: () => Promise<void>;
}

/**
 * Listens on 127.0.0.1. Every `refusesEach`-th arrival of an event that is new is answered 500, so that the sequence of events and
 * the retries are tested too.
 */
export async function openWebhookReceiver(secret: string, refusesEach: number): Promise<WebhookReceiver> {
  const exchanges: Exchange[] = [];
  const known = new Set<string>();
  let position = 0;
  const server = createServer((request, response) => {
    buffer(request).then(
      (body) => {
        const eventId = String(request.headers['webhook-id']);
        const isNew = !known.has(eventId);
        known.add(eventId);
        const isAccepted = !isNew || known.size % refusesEach !== 0;
        const arrival = (position += 1);
        const acceptedAt = isAccepted ? (position += 1) : undefined;
        exchanges.push({ eventId, body, arrival, acceptedAt, isSigned: isSigned(request, body, secret) });
        response.writeHead(isAccepted ? 204 : 500).end();
      },
      () => response.destroy(),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    exchanges,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Checks both signatures as their documentation describes them, without the code that makes them. */
function isSigned({ headers }: IncomingMessage, body: Buffer, secret: string): boolean {
  const plain = createHmac('sha256', secret).update(body).digest('hex');
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const standard = createHmac('sha256', key)
    .update(`${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.`)
    .update(body)
    .digest('base64');
  return (
    isSame(String(headers['x-svc-hmac-signature']), plain) &&
    String(headers['webhook-signature'])
      .split(' ')
      .some((each) => isSame(each, `v1,${standard}`))
  );
}

const isSame = (given: string, expected: string): boolean =>
  given.length === expected.length && timingSafeEqual(Buffer.from(given), Buffer.from(expected));
