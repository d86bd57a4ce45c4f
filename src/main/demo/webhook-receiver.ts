import { createHmac, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { DemoStopped } from './demo-stopped.ts';
import { parseJson } from '../../platform/parse-json.ts';

/** A webhook that the shop's server received. */
export interface ShopWebhook {
  readonly at: Date;
  readonly orderNumber: string;
  readonly type: string;
  readonly eventId: string;
  readonly signature: string;
  /** Whether the signature matches the body and the merchant's secret. */
  readonly isGenuine: boolean;
  readonly body: string;
}

/** The part of a merchant's server that receives webhooks. */
export interface WebhookReceiver {
  readonly url: string;
  readonly webhooks: readonly ShopWebhook[];
  readonly close: () => Promise<void>;
}

/** Listens on a free port of this machine. */
export async function openWebhookReceiver(secret: string, now: () => Date): Promise<WebhookReceiver> {
  const webhooks: ShopWebhook[] = [];
  const server = createServer((request, response) => {
    buffer(request).then(
      (body) => {
        const webhook = readWebhook(request, body, secret, now());
        if (webhook !== undefined) webhooks.push(webhook);
        response.writeHead(webhook === undefined ? 400 : 204).end();
      },
      () => response.destroy(),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string')
    throw new DemoStopped('no port is free for the webhooks');
  return {
    url: `http://127.0.0.1:${address.port}/webhooks`,
    webhooks,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const webhookBody = Type.Object({
  type: Type.String(),
  data: Type.Object({ order_number: Type.String() }),
});

/** Undefined if the body is no webhook. Any program of this machine can send one. */
function readWebhook(
  { headers }: IncomingMessage,
  body: Buffer,
  secret: string,
  at: Date,
): ShopWebhook | undefined {
  const sent = parseJson(body.toString());
  if (!Value.Check(webhookBody, sent)) return undefined;
  const signature = String(headers['x-svc-hmac-signature']);
  const expected = createHmac('sha256', secret).update(body).digest('hex');
  return {
    at,
    orderNumber: sent.data.order_number,
    type: sent.type,
    eventId: String(headers['webhook-id']),
    signature,
    isGenuine:
      signature.length === expected.length && timingSafeEqual(Buffer.from(signature), Buffer.from(expected)),
    body: body.toString(),
  };
}
