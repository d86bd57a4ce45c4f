import type { Behaviour, Receiver } from '../integration/webhooks/receivers.ts';
import { startReceiver } from '../integration/webhooks/receivers.ts';
import { callSandbox } from '../support/sandbox-calls.ts';
import { startStack } from '../support/stack.ts';
import { waitUntil } from '../support/wait-until.ts';
import { openCommandLine } from './cli-harness.ts';

export interface ListedDelivery {
  readonly delivery_id: string;
  readonly state: string;
  readonly attempt_count: number;
}

/** A well-formed id that nothing has. */
export const nobody = (prefix: string): string => `${prefix}_01m7xjbb99evv8hx2dqm5r8qgn`;

/** A merchant with servers that receive the webhooks of its orders, and an operator at the command line. Stop it in the end. */
export async function openWebhookCommandDesk() {
  const stack = await startStack({ wallets: 1, walletTimeScale: 0.1, webhooks: 1 });
  const merchant = await stack.createMerchant({ signsWebhooks: true });
  const settingsWith = (token: string, address = String(stack.webhooks[0]?.ready['grpc'])) => ({
    GATEHOUSE_WEBHOOKS_ADDRESSES: address,
    GATEHOUSE_SERVICE_TOKEN: token,
  });
  const cli = await openCommandLine(settingsWith(stack.tokens.operator));
  const receivers: Receiver[] = [];

  const post = async (path: string, body: object): Promise<void> => {
    const { status } = await callSandbox(stack, merchant, path, body);
    if (status !== 201) throw new Error(`${path} answered ${status}`);
  };
  const deliveriesTo = async ({ origin }: Pick<Receiver, 'origin'>) => {
    const { deliveries } = await cli.json('webhook', 'deliveries', merchant.id, '--host', origin);
    return deliveries as ListedDelivery[];
  };
  return {
    ...{ stack, merchant, cli, settingsWith },
    /** A merchant's own server. Its origin is a separate host, so that no test sees another's deliveries. */
    async openReceiver(behaviour?: Behaviour): Promise<Receiver> {
      const receiver = await startReceiver(behaviour);
      receivers.push(receiver);
      return receiver;
    },
    async closeReceivers() {
      for (const receiver of receivers.splice(0)) await receiver.close();
    },
    /** Registers an order with this webhook_url, and pays it. */
    async pay(orderNumber: string, webhookUrl: string) {
      const money = { order_number: orderNumber, amount: '100.50', currency: 'ETB' };
      const customer = { customer_phone: '0911223344', return_url: 'https://shop.example/thanks' };
      await post('register', { ...money, ...customer, reason: 'Shoes', webhook_url: webhookUrl });
      await post('direct?payment_option=walleta_ussd', { ...money, phone: '+251900000000' });
    },
    /** The delivery of a test event or an order, after its first attempt. */
    tried: (receiver: Pick<Receiver, 'origin'>) =>
      waitUntil('the delivery was tried', async () => {
        const [latest] = await deliveriesTo(receiver);
        return latest !== undefined && latest.attempt_count > 0 && latest;
      }),
    /** Sends a test event, whatever its result. */
    sendTest: (receiver: Receiver) =>
      cli.run('webhook', 'test', merchant.id, '--url', `${receiver.origin}/hook`),
    stop: async (): Promise<void> => {
      await cli.stop();
      await stack.stop();
    },
  };
}
