import { randomBytes } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { createClient, createRouterTransport } from '@connectrpc/connect';
import type { ServiceImpl } from '@connectrpc/connect';
import { pino } from 'pino';
import { buildCheckout } from '../../../src/checkout/app.ts';
import type { CheckoutOptions } from '../../../src/checkout/app.ts';
import { CheckoutSchema, CheckoutService } from '../../../src/gen/gatehouse/v1/checkout_service_pb.js';
import type { Checkout } from '../../../src/gen/gatehouse/v1/checkout_service_pb.js';
import { Environment, OrderSchema, OrderStatus } from '../../../src/gen/gatehouse/v1/order_pb.js';
import type { Order } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { WalletService } from '../../../src/gen/gatehouse/v1/wallet_service_pb.js';
import { demoWalletMessages } from '../../support/demo-wallet-messages.ts';
import { Health } from '../../../src/gen/health/v1/health_pb.js';

/**
 * The checkout on a free port, in front of RPC services that the test scripts. They give answers that a real core gives only in a failure.
 * Addresses and clocks can be chosen too. Tests on the stack prove that both work together.
 */
export interface CheckoutOverRpc {
  readonly url: string;
  /** The page of a well-formed token. */
  readonly page: string;
  readonly log: Record<string, unknown>[];
  readonly drain: AbortController;
  readonly close: () => Promise<void>;
}

export interface ScriptedServices {
  readonly checkout?: Partial<ServiceImpl<typeof CheckoutService>>;
  readonly health?: Partial<ServiceImpl<typeof Health>>;
}

export const token = 'T'.repeat(87);

type Own<T> = Partial<Omit<T, '$typeName' | '$unknown'>>;

/** A checkout that can be paid. A test names the values that matter to it. */
export function openCheckout(order: Own<Order> = {}, own: Own<Omit<Checkout, 'order'>> = {}): Checkout {
  return create(CheckoutSchema, {
    merchantName: 'Abeba Trading',
    attemptsLeft: 5,
    usableHere: true,
    paymentOptions: ['walleta_ussd', 'walletb_ussd', 'walleta_wallet'],
    order: create(OrderSchema, {
      orderId: 'ord_1',
      merchantId: 'mer_1',
      environment: Environment.PRODUCTION,
      orderNumber: 'A-1',
      status: OrderStatus.PENDING,
      amount: '100.50',
      deducted: '0.00',
      currency: 'ETB',
      customerPhone: '0911223344',
      reason: 'Two pairs of shoes',
      returnUrl: 'https://shop.example/return',
      expireTime: timestampFromMs(Date.now() + 600_000),
      ...order,
    }),
    ...own,
  });
}

export async function startCheckoutOverRpc(
  services: ScriptedServices = {},
  overrides: Partial<
    Pick<CheckoutOptions, 'baseUrl' | 'unknownLinksPerMinute' | 'paymentLimits' | 'trustedProxies' | 'now'>
  > = {},
): Promise<CheckoutOverRpc> {
  const transport = createRouterTransport((router) => {
    router.service(CheckoutService, {
      getCheckout: () => ({ checkout: openCheckout() }),
      submitCheckoutPayment: () => ({ checkout: openCheckout() }),
      cancelCheckout: () => ({ checkout: openCheckout() }),
      ...services.checkout,
    });
    router.service(WalletService, { listWallets: () => ({ wallets: demoWalletMessages }) });
    router.service(Health, { ...services.health });
  });
  const log: Record<string, unknown>[] = [];
  const drain = new AbortController();
  let requests = 0;
  const app = await buildCheckout({
    checkout: createClient(CheckoutService, transport),
    wallets: createClient(WalletService, transport),
    health: createClient(Health, transport),
    baseUrl: () => app.listeningOrigin,
    trustedProxies: [],
    unknownLinksPerMinute: 1_000,
    paymentLimits: { perBrowser: 0, perPage: 0, perNetwork: 0 },
    timeZone: 'Africa/Addis_Ababa',
    logger: pino(
      { level: 'debug' },
      { write: (line) => void log.push(JSON.parse(line) as Record<string, unknown>) },
    ),
    draining: drain.signal,
    now: () => new Date(),
    monotonicMs: () => performance.now(),
    randomBytes,
    newRequestId: () => `request-${++requests}`,
    ...overrides,
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  return { url, page: `${url}/c/${token}`, log, drain, close: () => app.close() };
}
