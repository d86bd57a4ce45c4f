import { randomBytes } from 'node:crypto';
import { Environment } from '../../src/gen/gatehouse/v1/order_pb.js';
import { startStack } from '../support/stack.ts';
import { startFaultyGateway } from './faulty-gateway.ts';
import type { SeenRequest } from './faulty-gateway.ts';
import { startWebhookMailbox } from './webhook-mailbox.ts';

/** The addresses, keys and secrets of the gateway under test. Tests in other languages read them as JSON. */
export interface ClientSite {
  readonly sandbox_url: string;
  readonly production_url: string;
  /** See FaultyGateway. */
  readonly faulty_url: string;
  readonly test_key: string;
  readonly live_key: string;
  readonly key_without_refunds: string;
  /** See WebhookMailbox. */
  readonly mailbox_url: string;
  /** Signs the webhooks to the webhook_urls of orders of the test key. */
  readonly signing_secret: string;
}

export interface RunningSite {
  readonly site: ClientSite;
  readonly stop: () => Promise<void>;
}

/** A gateway with a wallet and webhooks, and a merchant whose test key has the scope for refunds. */
export async function startClientSite(): Promise<RunningSite> {
  const stack = await startStack({ wallets: 1, webhooks: 1 });
  const [facade] = stack.facades;
  if (facade === undefined) throw new TypeError('the stack has no facade');
  const merchant = await stack.createMerchant({ mayRefund: true });
  const { id: merchantId } = merchant;
  const { secret } = await stack
    .webhookClient('operator')
    .rotateSigningSecret({ merchantId, environment: Environment.SANDBOX });
  const faulty = await startFaultyGateway(facade.sandbox);
  const mailbox = await startWebhookMailbox();
  return {
    site: {
      sandbox_url: facade.sandbox,
      production_url: facade.production,
      faulty_url: faulty.origin,
      test_key: merchant.testKey,
      live_key: merchant.liveKey,
      key_without_refunds: (await stack.createMerchant()).testKey,
      mailbox_url: mailbox.origin,
      signing_secret: secret,
    },
    stop: async () => {
      await faulty.close();
      await mailbox.close();
      await stack.stop();
    },
  };
}

/** The requests that a run has sent to the faulty gateway. */
export async function requestsOf(site: ClientSite, run: string): Promise<readonly SeenRequest[]> {
  const response = await fetch(`${site.faulty_url}/requests/${run}`);
  return (await response.json()) as readonly SeenRequest[];
}

/** An unused number of an order, a refund or a run. */
export const newNumber = (): string => `c-${randomBytes(8).toString('hex')}`;

/** The phone of a payer who confirms. */
export const newPhone = (): string =>
  `+25191${String(randomBytes(4).readUInt32BE() % 10_000_000).padStart(7, '0')}`;
