import { signedHeaders } from '../../../src/contract/webhook-signature.ts';
import type { OutgoingDelivery } from '../../../src/webhooks/domain/delivery.ts';
import { endpointOf } from '../../../src/webhooks/domain/delivery.ts';
import type { WebhookSender, WebhookSenderOptions } from '../../../src/webhooks/sending/send-webhook.ts';
import { createWebhookSender } from '../../../src/webhooks/sending/send-webhook.ts';
import { createResolve } from '../../../src/webhooks/sending/resolve-host.ts';
import { startReceiver } from './receivers.ts';

const loopback = ['127.0.0.0/8', '::1/128'];

/** A sender that may connect to this machine, with time limits for a busy one. */
export const testSender = (over: Partial<WebhookSenderOptions> = {}): WebhookSender =>
  createWebhookSender({
    sandboxNetworks: loopback,
    version: '1.2.3',
    totalMs: 20_000,
    connectMs: 10_000,
    now: () => new Date(),
    resolve: createResolve(),
    pause: () => Promise.resolve(),
    ...over,
  });

/** Senders and receivers of one test. */
export interface SendingDesk {
  readonly openSender: (over?: Partial<WebhookSenderOptions>) => WebhookSender;
  readonly openReceiver: typeof startReceiver;
  /** Closes something else together with them. */
  readonly closeLater: (close: () => Promise<unknown>) => void;
  /** Closes them all. The desk can be used again. */
  readonly close: () => Promise<void>;
}

export function sendingDesk(): SendingDesk {
  const closing: (() => Promise<unknown>)[] = [];
  return {
    openSender(over) {
      const sender = testSender(over);
      closing.push(() => sender.close());
      return sender;
    },
    async openReceiver(...options) {
      const receiver = await startReceiver(...options);
      closing.push(receiver.close);
      return receiver;
    },
    closeLater: (close) => void closing.push(close),
    async close() {
      for (const close of closing.splice(0).reverse()) await close();
    },
  };
}

export const buildDelivery = (url: string, over: Partial<OutgoingDelivery> = {}): OutgoingDelivery => ({
  id: 'whd_01jd4s6w3hfk0a8m2x7v5n9q1r',
  merchantId: 'mer_01jd4s6w3hfk0a8m2x7v5n9q1r',
  environment: 'SANDBOX',
  endpoint: endpointOf(url),
  eventId: 'evt_01jd4s6w3hfk0a8m2x7v5n9q1r',
  eventType: 'order.completed',
  orderId: 'ord_01jd4s6w3hfk0a8m2x7v5n9q1r',
  sequence: 2n,
  url,
  body: Buffer.from('{"id":"evt_01jd4s6w3hfk0a8m2x7v5n9q1r","type":"order.completed"}'),
  attemptNumber: 1,
  roundAttempts: 0,
  roundStartedAt: new Date(),
  ...over,
});

/** Sends one webhook to a URL, signed with a secret of its own. */
export const sendTo = (sender: WebhookSender, url: string, over: Partial<OutgoingDelivery> = {}) => {
  const delivery = buildDelivery(url, over);
  const headers = signedHeaders({
    eventId: delivery.eventId,
    body: delivery.body,
    at: new Date(),
    secrets: { current: 'whsec_c2VjcmV0' },
  });
  return sender.send(delivery, headers, new AbortController().signal);
};
