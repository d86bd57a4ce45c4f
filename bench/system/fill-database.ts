import { createClient } from '@connectrpc/connect';
import { ApiKeyService } from '../../src/gen/gatehouse/v1/api_key_service_pb.js';
import { CheckoutService } from '../../src/gen/gatehouse/v1/checkout_service_pb.js';
import { MerchantService } from '../../src/gen/gatehouse/v1/merchant_service_pb.js';
import { Environment } from '../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../src/gen/gatehouse/v1/order_service_pb.js';
import { storedId } from '../../test/support/ids.ts';
import { createGrpcTransport } from '../../src/contract/grpc-transport.ts';
import { startGatehouse } from './gatehouse.ts';
import { root } from './logged-process.ts';
import type { BenchPostgres } from './servers.ts';

/** The merchant of the registered and requested orders. */
export interface BenchMerchant {
  readonly id: string;
  /** In the stored form. */
  readonly storedId: string;
  readonly testKey: string;
}

/** Orders that core wrote. All other orders are copies of these. */
export const writtenByCore = { registered: 'S-REGISTERED', ended: 'S-ENDED' } as const;

/**
 * Makes a database with a merchant and two orders that core wrote, in the schema of a checkout of the project. No connection is
 * open when it returns.
 */
export async function fillDatabase(
  postgres: BenchPostgres,
  name: string,
  folder = root,
): Promise<{ url: string; merchant: BenchMerchant }> {
  const url = await postgres.createDatabase(name);
  const gatehouse = await startGatehouse({ databaseUrl: url, seeded: 0, facades: 0, folder });
  const { coreAddresses: addresses, tokens } = gatehouse;
  const transport = createGrpcTransport({ addresses, token: tokens.operator });
  const checkoutTransport = createGrpcTransport({ addresses, token: tokens.checkout });
  try {
    const { merchant } = await createClient(MerchantService, transport).createMerchant({ name: 'Bench' });
    const merchantId = merchant?.merchantId ?? '';
    const { secret } = await createClient(ApiKeyService, transport).issueApiKey({
      merchantId,
      environment: Environment.SANDBOX,
    });
    const orders = createClient(OrderService, transport);
    const register = (orderNumber: string) =>
      orders.registerOrder({
        merchantId,
        environment: Environment.SANDBOX,
        orderNumber,
        amount: '100.50',
        currency: 'ETB',
        reason: 'Two pairs of shoes',
        customerPhone: '0911223344',
        returnUrl: 'https://shop.example/return',
        webhookUrl: 'https://shop.example/hook',
      });
    await register(writtenByCore.registered);
    const { checkoutUrl } = await register(writtenByCore.ended);
    await createClient(CheckoutService, checkoutTransport).cancelCheckout({
      token: checkoutUrl.split('/').at(-1) ?? '',
      browserSecret: 'b'.repeat(43),
    });
    await gatehouse.settle();
    return { url, merchant: { id: merchantId, storedId: storedId('mer', merchantId), testKey: secret } };
  } finally {
    transport.close();
    checkoutTransport.close();
    await gatehouse.stop();
  }
}
