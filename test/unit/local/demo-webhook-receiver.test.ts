import { expect, test } from '@jest/globals';
import { openWebhookReceiver } from '../../../src/main/demo/webhook-receiver.ts';

test.each(['no JSON', 'null', '{"type":"payment.completed"}'])(
  "the demo's shop refuses a request that is no webhook, and goes on: %s",
  async (body) => {
    const receiver = await openWebhookReceiver('the secret', () => new Date());
    try {
      const { status } = await fetch(receiver.url, { method: 'POST', body });

      expect({ status, webhooks: receiver.webhooks }).toEqual({ status: 400, webhooks: [] });
    } finally {
      await receiver.close();
    }
  },
);
