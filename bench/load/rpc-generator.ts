/**
 * The generator of RPC scenarios, in its own process. It keeps a number of calls in flight for some seconds over one
 * connection, and prints the results. Its environment contains the scenario.
 */
import { createClient } from '@connectrpc/connect';
import type { Interceptor } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { cleanEnv, num, str } from 'envalid';
import { Environment } from '../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../src/gen/gatehouse/v1/order_service_pb.js';
import { plainGrpcClient } from '../../test/integration/core/rpc-clients.ts';
import { registration } from '../../test/support/order-requests.ts';
import { latenciesOf } from '../latencies.ts';
import type { RpcMethod } from './run-rpc.ts';

const settings = cleanEnv(process.env, {
  PROTOCOL: str({ choices: ['grpc', 'connect'] }),
  METHOD: str<RpcMethod>({ choices: ['register', 'batch register', 'get'] }),
  ADDRESS: str(),
  TOKEN: str(),
  MERCHANT: str(),
  RUN: num(),
  SEEDED: num(),
  IN_FLIGHT: num(),
  SECONDS: num(),
  BATCH: num(),
});

/** Makes one call, and returns the number of its failed items. */
type Call = () => Promise<number>;

let count = 0;
const orderNumber = (): string => `R${settings.RUN}-${(count += 1)}`;
const seededNumber = (): string =>
  `S-${String(1 + Math.floor(Math.random() * settings.SEEDED)).padStart(8, '0')}`;
const registrations = (): ReturnType<typeof registration>[] =>
  Array.from({ length: settings.BATCH }, () =>
    registration({ merchantId: settings.MERCHANT, orderNumber: orderNumber() }),
  );

function connectCalls(): Record<RpcMethod, Call> {
  const authorize: Interceptor = (next) => (request) => {
    request.header.set('authorization', `Bearer ${settings.TOKEN}`);
    return next(request);
  };
  const transport = createConnectTransport({
    baseUrl: settings.ADDRESS,
    httpVersion: '2',
    interceptors: [authorize],
  });
  const orders = createClient(OrderService, transport);
  const { MERCHANT: merchantId } = settings;
  const key = (value: string) => ({ case: 'orderNumber' as const, value });
  return {
    register: () =>
      orders.registerOrder(registration({ merchantId, orderNumber: orderNumber() })).then(() => 0),
    'batch register': async () => {
      const { results } = await orders.batchRegisterOrders({ requests: registrations() });
      return results.filter(({ result }) => result.case === 'error').length;
    },
    get: () =>
      orders
        .getOrder({ merchantId, environment: Environment.SANDBOX, key: key(seededNumber()) })
        .then(() => 0),
  };
}

/** The fields of `registration`, with the names of the .proto file. */
const plainRegistration = (): object => ({
  merchant_id: settings.MERCHANT,
  environment: 'ENVIRONMENT_SANDBOX',
  order_number: orderNumber(),
  amount: '100.50',
  currency: 'ETB',
  reason: 'Two pairs of shoes',
  customer_phone: '0911223344',
  return_url: 'https://shop.example/return',
  webhook_url: 'https://shop.example/hook',
  business_name: 'Shoes & Co',
});

function grpcCalls(): Record<RpcMethod, Call> {
  const client = plainGrpcClient(settings.ADDRESS, settings.TOKEN);
  const call = async (method: string, request: object) => {
    const { response, error } = await client.call('gatehouse.v1.OrderService', method, request);
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return response;
  };
  const { MERCHANT: merchant_id } = settings;
  return {
    register: () => call('RegisterOrder', plainRegistration()).then(() => 0),
    'batch register': async () => {
      const requests = Array.from({ length: settings.BATCH }, plainRegistration);
      const { results } = (await call('BatchRegisterOrders', { requests })) as {
        results: { error?: unknown }[];
      };
      return results.filter(({ error }) => error != null).length;
    },
    get: () =>
      call('GetOrder', {
        merchant_id,
        environment: 'ENVIRONMENT_SANDBOX',
        order_number: seededNumber(),
      }).then(() => 0),
  };
}

const call = (settings.PROTOCOL === 'grpc' ? grpcCalls() : connectCalls())[settings.METHOD];
const itemsACall = settings.METHOD === 'batch register' ? settings.BATCH : 1;
let failed = 0;
/** The first error of a whole call, so that a run with failures says what they are. */
let firstError: string | undefined;
const countFailure = (error: unknown): number => {
  firstError ??= String(error);
  return itemsACall;
};
/** Keeps calls in flight for a while, and returns the duration of each, in milliseconds. */
async function callFor(ms: number): Promise<number[]> {
  const latencies: number[] = [];
  const endMs = performance.now() + ms;
  const keepCalling = async (): Promise<void> => {
    for (let now = performance.now(); now < endMs;) {
      failed += await call().catch(countFailure);
      const after = performance.now();
      latencies.push(after - now);
      now = after;
    }
  };
  await Promise.all(Array.from({ length: settings.IN_FLIGHT }, keepCalling));
  return latencies;
}

await call(); // Connects, and fails here if the connection is not possible.
const warmUp = await callFor(500);
const cpuBefore = process.cpuUsage();
const begunMs = performance.now();
const latencies = await callFor(settings.SECONDS * 1000);
const { p50, p99 } = latenciesOf(latencies);
const { user, system } = process.cpuUsage(cpuBefore);
const result = {
  requests: latencies.length * itemsACall,
  warmUpRequests: (warmUp.length + 1) * itemsACall,
  seconds: (performance.now() - begunMs) / 1000,
  p50_ms: p50,
  p99_ms: p99,
  failed,
  firstError,
  cpuSeconds: (user + system) / 1e6,
};
process.stdout.write(`RESULT ${JSON.stringify(result)}\n`, () => process.exit());
