import { signedHeaders } from '../../../src/contract/webhook-signature.ts';
import type { AttemptReport, OutgoingDelivery } from '../../../src/webhooks/domain/delivery.ts';
import { endpointOf } from '../../../src/webhooks/domain/delivery.ts';
import type { WebhookSender, WebhookSenderOptions } from '../../../src/webhooks/sending/send-webhook.ts';
import { createWebhookSender } from '../../../src/webhooks/sending/send-webhook.ts';
import { createResolve } from '../../../src/platform/resolve-name.ts';
import { startReceiver } from './receivers.ts';

const loopback = ['127.0.0.0/8', '::1/128'];

/** A sender that may connect to this machine, with time limits for a busy one. */
export const testSender = (over: Partial<WebhookSenderOptions> = {}): WebhookSender =>
  createWebhookSender({
    sandboxNetworks: loopback,
    version: '1.2.3',
    totalMs: 20_000,
    connectMs: 10_000,
    monotonicMs: () => performance.now(),
    resolve: createResolve(),
    pause: () => Promise.resolve(),
    ...over,
  });

/** Senders and receivers of one test. */
export function sendingDesk() {
  const closing: (() => Promise<unknown>)[] = [];
  const openReceiver = async (...options: Parameters<typeof startReceiver>) => {
    const receiver = await startReceiver(...options);
    closing.push(receiver.close);
    return receiver;
  };
  return {
    openSender: (over?: Partial<WebhookSenderOptions>): WebhookSender => {
      const sender = testSender(over);
      closing.push(() => sender.close());
      return sender;
    },
    openReceiver,
    /** Opens receivers at one port of several addresses. A free port of the first address may be in use at another one. */
    openReceivers: async (
      hosts: readonly [string, ...string[]],
      answer?: Parameters<typeof startReceiver>[0],
    ) => {
      const [first, ...others] = hosts;
      for (;;) {
        const receiver = await openReceiver(answer, { host: first });
        try {
          const { port } = receiver;
          const rest = await Promise.all(others.map((host) => openReceiver(undefined, { host, port })));
          return [receiver, ...rest] as const;
        } catch (error) {
          if (!(error instanceof Error) || !('code' in error) || error.code !== 'EADDRINUSE') throw error;
        }
      }
    },
    /** Closes something else together with them. */
    closeLater: (close: () => Promise<unknown>) => void closing.push(close),
    /** Closes them all. The desk can be used again. */
    close: async (): Promise<void> => {
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

/** The report of an attempt that ended at once. */
export const buildReport = (over: Partial<AttemptReport> = {}): AttemptReport => ({
  startedAt: new Date(),
  durationMs: 1,
  result: 'DELIVERED',
  statusCode: 200,
  detail: '',
  remoteAddress: '192.0.2.1',
  responseBody: Buffer.alloc(0),
  retryAfter: '',
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
