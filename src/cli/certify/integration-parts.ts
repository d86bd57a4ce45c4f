import type { GatewayProxy } from './gateway-proxy.ts';
import type { MerchantShop } from './merchant-shop.ts';
import type { WebhookSender } from './webhook-sender.ts';

/** The times for which certification waits, and makes a shop wait. */
export interface IntegrationLimits {
  /** How long an order may take to arrive. */
  readonly arrivalMs: number;
  /** How long the shop may take to repeat a request. */
  readonly repeatMs: number;
  /** How long a slow 201 takes. */
  readonly slowMs: number;
  readonly retryAfterSeconds: number;
  /** How long certification watches that something does not happen. */
  readonly quietMs: number;
  /** How long the shop may take to fulfil a paid order. */
  readonly fulfilMs: number;
}

export interface IntegrationParts {
  readonly shop: MerchantShop;
  readonly proxy: GatewayProxy;
  readonly sender: WebhookSender;
  readonly limits: IntegrationLimits;
  readonly now: () => Date;
  readonly stop: AbortSignal;
}
