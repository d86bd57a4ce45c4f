import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { createClient } from '@connectrpc/connect';
import pg from 'pg';
import { openDatabase } from '../src/core/database/database.ts';
import { ApiKeyService } from '../src/gen/gatehouse/v1/api_key_service_pb.js';
import { MerchantService } from '../src/gen/gatehouse/v1/merchant_service_pb.js';
import { Environment } from '../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../src/gen/gatehouse/v1/order_service_pb.js';
import { startTemporaryNats, startTemporaryPostgres } from '../src/main/local/temporary-servers.ts';
import { createLogger } from '../src/runtime/logger.ts';
import { storedId } from '../src/runtime/public-id.ts';
import { createGrpcTransport } from '../src/runtime/rpc/grpc-transport.ts';
import { startProcess } from '../test/support/gatehouse-process.ts';
import type { GatehouseProcess } from '../test/support/gatehouse-process.ts';
import { parentOf } from './load/process-usage.ts';

/** Facade, core, NATS and a durable PostgreSQL in folders of their own, with one merchant and its test key. */
export interface GatehouseUnderLoad {
  readonly urls: readonly string[];
  readonly coreAddresses: readonly string[];
  readonly serviceToken: string;
  readonly databaseUrl: string;
  readonly database: pg.Client;
  readonly apiKey: string;
  readonly merchantId: string;
  /** As stored. */
  readonly storedMerchantId: string;
  /** What a registration's event holds. */
  readonly eventPayload: string;
  readonly cores: readonly GatehouseProcess[];
  readonly facades: readonly GatehouseProcess[];
  readonly postmaster: number;
  readonly stop: () => Promise<void>;
}

const token = (): string => randomBytes(32).toString('hex');

/** @throws when a part does not start; nothing is left running then */
export async function startGatehouse(options: {
  readonly cores: number;
  readonly facades: number;
  /** Where core and facade leave CPU profiles when they end; empty for none. */
  readonly profileFolder: string;
}): Promise<GatehouseUnderLoad> {
  const { cores: coreCount, facades: facadeCount, profileFolder } = options;
  const profiling =
    profileFolder === '' ? {} : { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${resolve(profileFolder)}` };
  const cleanUps: (() => Promise<unknown>)[] = [];
  const stop = async (): Promise<void> => {
    for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
  };
  try {
    const [postgres, nats] = await Promise.all([
      startTemporaryPostgres({ durable: true }),
      startTemporaryNats(),
    ]);
    cleanUps.push(nats.stop, postgres.stop);
    await migrate(postgres.url);
    const database = new pg.Client({ connectionString: postgres.url });
    await database.connect();
    cleanUps.push(() => database.end());

    const tokens = { facade: token(), operator: token(), writer: token() };
    const cores: GatehouseProcess[] = [];
    for (let index = 0; index < coreCount; index += 1) {
      cores.push(
        await startProcess('core', {
          GATEHOUSE_DATABASE_URL: postgres.url,
          GATEHOUSE_NATS_URL: nats.url,
          GATEHOUSE_MASTER_KEY: 'ab'.repeat(32),
          GATEHOUSE_SERVICE_TOKENS: Object.entries(tokens)
            .map(([role, value]) => `${role}:${value}`)
            .join(),
          GATEHOUSE_CORE_GRPC_PORT: '0',
          ...profiling,
          GATEHOUSE_CORE_CONNECT_PORT: '0',
        }),
      );
    }
    cleanUps.push(() => Promise.all(cores.map((core) => core.stop())));
    const coreAddresses = cores.map(({ ready }) => String(ready['grpc']));
    const facades: GatehouseProcess[] = [];
    for (let index = 0; index < facadeCount; index += 1) {
      facades.push(
        await startProcess('rest-facade', {
          GATEHOUSE_CORE_ADDRESSES: coreAddresses.join(),
          GATEHOUSE_SERVICE_TOKEN: tokens.facade,
          GATEHOUSE_REST_PRODUCTION_PORT: '0',
          GATEHOUSE_REST_SANDBOX_PORT: '0',
          // Counted, as in production, and never reached.
          GATEHOUSE_RATE_LIMIT_PER_KEY: '10000000',
          ...profiling,
        }),
      );
    }
    cleanUps.push(() => Promise.all(facades.map((facade) => facade.stop())));

    const merchant = await makeMerchant(coreAddresses, tokens);
    const storedMerchantId = storedId('mer', merchant.id);
    const { rows: events } = await database.query<{ payload: string }>(
      `select '\\x' || encode(payload, 'hex') as payload from core.order_events limit 1`,
    );
    const { rows: backends } = await database.query<{ pid: number }>('select pg_backend_pid() as pid');
    return {
      urls: facades.map(({ ready }) => String(ready['sandbox'])),
      coreAddresses,
      serviceToken: tokens.writer,
      databaseUrl: postgres.url,
      database,
      apiKey: merchant.key,
      merchantId: merchant.id,
      storedMerchantId,
      eventPayload: events[0]?.payload ?? '',
      cores,
      facades,
      postmaster: parentOf(backends[0]?.pid ?? 0),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function migrate(url: string): Promise<void> {
  const logger = createLogger({ process: 'bench', instance: 'bench', level: 'silent' });
  const database = await openDatabase({ url, poolSize: 2, applicationName: 'bench', logger });
  await database.migrate();
  await database.close();
}

async function makeMerchant(
  addresses: readonly string[],
  tokens: { readonly operator: string; readonly writer: string },
): Promise<{ id: string; key: string }> {
  const operator = createGrpcTransport({ addresses, token: tokens.operator });
  const writer = createGrpcTransport({ addresses, token: tokens.writer });
  try {
    const { merchant } = await createClient(MerchantService, operator).createMerchant({ name: 'Bench' });
    const id = merchant?.merchantId ?? '';
    const environment = Environment.SANDBOX;
    const { secret } = await createClient(ApiKeyService, operator).issueApiKey({
      merchantId: id,
      environment,
    });
    await createClient(OrderService, writer).registerOrder({
      merchantId: id,
      environment,
      orderNumber: 'first',
      amount: '100.50',
      currency: 'ETB',
      reason: 'Two pairs of shoes',
      customerPhone: '0911223344',
      returnUrl: 'https://shop.example/return',
      webhookUrl: 'https://shop.example/hook',
    });
    return { id, key: secret };
  } finally {
    operator.close();
    writer.close();
  }
}

/** Makes orders S-<from> to S-<to> with SQL, as registration would have left them. */
export async function seedOrders(gatehouse: GatehouseUnderLoad, from: number, to: number): Promise<void> {
  const step = 500_000;
  for (let start = from; start <= to; start += step) {
    await gatehouse.database.query(
      `insert into core.orders (
         merchant_id, environment, id, order_number, status, payment_type, amount_text, amount_minor_units,
         deducted_minor_units, currency, customer_phone, customer_phone_e164, reason, business_name, return_url,
         webhook_url, last_event_sequence, attempt_count, latest_attempt_id, created_at, updated_at, expires_at, sweep_at)
       select $1::uuid, 'SANDBOX', uuidv7(), 'S-' || n, 'EXPIRED', 'API', '100.50', 10050, 0, 'ETB', '0911223344',
         '+251911223344', 'Two pairs of shoes', '', 'https://shop.example/return', '', 1, 0, null, now(), now(),
         now() + interval '30 minutes', null
       from generate_series($2::bigint, $3::bigint) n`,
      [gatehouse.storedMerchantId, start, Math.min(to, start + step - 1)],
    );
  }
  await gatehouse.database.query('vacuum analyze core.orders');
}
