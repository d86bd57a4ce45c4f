import type { Behaviour, Receiver } from '../integration/webhooks/receivers.ts';
import { startReceiver } from '../integration/webhooks/receivers.ts';
import { startStack } from '../support/stack.ts';
import type { Stack, TestMerchant } from '../support/stack.ts';
import { waitUntil } from '../support/wait-until.ts';
import { openCommandLine } from './cli-harness.ts';
import type { CommandLine } from './cli-harness.ts';

export interface ListedDelivery {
  readonly delivery_id: string;
  readonly state: string;
  readonly attempt_count: number;
}

/** A merchant with servers that receive the webhooks of its orders, and an operator at the command line. */
export interface WebhookCommandDesk {
  readonly stack: Stack;
  readonly merchant: TestMerchant;
  readonly cli: CommandLine;
  readonly settingsWith: (token: string, address?: string) => Record<string, string>;
  /** A merchant's own server. Its origin is a separate host, so that no test sees another's deliveries. */
  readonly openReceiver: (behaviour?: Behaviour) => Promise<Receiver>;
  readonly closeReceivers: () => Promise<void>;
  /** Registers an order with this webhook_url, and pays it. */
  readonly pay: (orderNumber: string, webhookUrl: string) => Promise<void>;
  readonly deliveriesTo: (receiver: Pick<Receiver, 'origin'>) => Promise<readonly ListedDelivery[]>;
  /** The delivery of a test event or an order, after its first attempt. */
  readonly tried: (receiver: Pick<Receiver, 'origin'>) => Promise<ListedDelivery>;
  /** Sends a test event, whatever its result. */
  readonly sendTest: (receiver: Receiver) => ReturnType<CommandLine['run']>;
  readonly stop: () => Promise<void>;
}

/** A well-formed id that nothing has. */
export const nobody = (prefix: string): string => `${prefix}_01m7xjbb99evv8hx2dqm5r8qgn`;

/** Opens it. Stop it in the end. */
export async function openWebhookCommandDesk(): Promise<WebhookCommandDesk> {
  const stack = await startStack({ wallets: 1, walletTimeScale: 0.1, webhooks: 1 });
  const merchant = await stack.createMerchant({ signsWebhooks: true });
  const settingsWith = (token: string, address = String(stack.webhooks[0]?.ready['grpc'])) => ({
    GATEHOUSE_WEBHOOKS_ADDRESSES: address,
    GATEHOUSE_SERVICE_TOKEN: token,
  });
  const cli = await openCommandLine(settingsWith(stack.tokens.operator));
  const receivers: Receiver[] = [];

  const post = async (path: string, body: object): Promise<void> => {
    const { status } = await fetch(`${stack.facades[0]?.sandbox}${path}`, {
      method: 'POST',
      headers: { apiKey: merchant.testKey, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (status !== 201) throw new Error(`${path} answered ${status}`);
  };
  const deliveriesTo: WebhookCommandDesk['deliveriesTo'] = async ({ origin }) => {
    const { deliveries } = await cli.json('webhook', 'deliveries', merchant.id, '--host', origin);
    return deliveries as ListedDelivery[];
  };
  return {
    stack,
    merchant,
    cli,
    settingsWith,
    async openReceiver(behaviour) {
      const receiver = await startReceiver(behaviour);
      receivers.push(receiver);
      return receiver;
    },
    async closeReceivers() {
      for (const receiver of receivers.splice(0)) await receiver.close();
    },
    async pay(orderNumber, webhookUrl) {
      const money = { order_number: orderNumber, amount: '100.50', currency: 'ETB' };
      const customer = { customer_phone: '0911223344', return_url: 'https://shop.example/thanks' };
      await post('/api/v1/register', { ...money, ...customer, reason: 'Shoes', webhook_url: webhookUrl });
      await post('/api/v1/direct?payment_option=walleta_ussd', { ...money, phone: '+251900000000' });
    },
    deliveriesTo,
    tried: (receiver) =>
      waitUntil('the delivery was tried', async () => {
        const [latest] = await deliveriesTo(receiver);
        return latest !== undefined && latest.attempt_count > 0 && latest;
      }),
    sendTest: (receiver) => cli.run('webhook', 'test', merchant.id, '--url', `${receiver.origin}/hook`),
    async stop() {
      await cli.stop();
      await stack.stop();
    },
  };
}
