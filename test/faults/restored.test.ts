import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { AuditService } from '../../src/gen/gatehouse/v1/audit_service_pb.js';
import type { AuditFinding, AuditSummary } from '../../src/gen/gatehouse/v1/audit_service_pb.js';
import { Environment, OrderStatus } from '../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../src/gen/gatehouse/v1/order_service_pb.js';
import {
  RecoveredWalletState,
  RecoveryService,
  RecoveryStream,
} from '../../src/gen/gatehouse/v1/recovery_service_pb.js';
import { backupTools } from '../../src/main/backup-tools.ts';
import { startTemporaryNats } from '../../src/main/local/temporary-servers.ts';
import type { GatehouseProcess } from '../support/gatehouse-process.ts';
import { startInline } from '../support/inline-process.ts';
import { loseDatabase } from '../support/lose-database.ts';
import { startStack } from '../support/stack.ts';
import type { Stack, TestMerchant } from '../support/stack.ts';
import { insist, waitUntil } from '../support/wait-until.ts';

/* The drill of docs/operating/backup.md: a backup, payments after it, the loss of the database, the restore. */

const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

interface Answer {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly body: {
    readonly message?: string;
    readonly payment_status?: string;
    readonly data?: Readonly<Record<string, string>>;
  };
}

/** A shop that sends its requests again with the same values, as the documentation asks it to. */
class Shop {
  readonly #stack: Stack;
  readonly #key: string;

  constructor(stack: Stack, merchant: TestMerchant) {
    this.#stack = stack;
    this.#key = merchant.testKey;
  }

  async #send(path: string, body: object): Promise<Answer> {
    const response = await fetch(`${this.#stack.facades[0]?.sandbox ?? ''}${path}`, {
      method: 'POST',
      headers: { apiKey: this.#key, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const retryAfter = response.headers.get('retry-after');
    return { status: response.status, retryAfter, body: (await response.json()) as Answer['body'] };
  }

  pay(number: string): Promise<Answer> {
    return this.#send('/api/v1/direct?payment_option=walleta_ussd', {
      amount: '100.50',
      currency: 'ETB',
      order_number: number,
      phone: phoneOf(number),
    });
  }

  register(number: string): Promise<Answer> {
    return this.#send('/api/v1/register', {
      order_number: number,
      return_url: 'http://127.0.0.1/back',
      webhook_url: 'http://127.0.0.1:9/hook',
      amount: '100.50',
      currency: 'ETB',
      reason: 'Shoes',
      customer_phone: phoneOf(number),
    });
  }

  verify(number: string): Promise<Answer> {
    return this.#send('/api/v1/verify', { order_number: number });
  }
}

/** Numbers end in three digits, which make the payer's phone. */
const phoneOf = (number: string): string => `25190111${number.slice(-4)}`;

const numbers = (prefix: string, first: number, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${String(first + index).padStart(4, '0')}`);

async function openDrill() {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-backup-'));
  closers.push(() => rm(folder, { recursive: true }));
  const stack = await startStack({
    wallets: 1,
    webhooks: 1,
    settings: { GATEHOUSE_RATE_LIMIT_PER_KEY: '0', GATEHOUSE_RECOVERY_SETTLE_SECONDS: '0' },
  });
  closers.push(stack.stop);
  const merchant = await stack.createMerchant({ signsWebhooks: true });
  const shop = new Shop(stack, merchant);
  const urls = { core: stack.databaseUrl, webhooks: stack.databaseUrl };
  const orders = stack.client(OrderService, 'reader');
  /** From core: the facade answers completed orders from its memory. */
  const statusOf = (orderNumber: string) =>
    insist('core answers', async () => {
      const request = { merchantId: merchant.id, environment: Environment.SANDBOX };
      const found = await orders.getOrder({ ...request, key: { case: 'orderNumber', value: orderNumber } });
      return found.order?.status;
    });
  const recoveries = stack.client(RecoveryService, 'operator');
  // The client connects again by itself after core was started again.
  const recovery = () => insist('core answers', async () => (await recoveries.getRecovery({})).recovery);
  return {
    stack,
    merchant,
    shop,
    folder,
    recovery,
    statusOf,
    pay: async (all: readonly string[]) => {
      for (const number of all) expect((await shop.pay(number)).status).toBe(201);
    },
    allCompleted: (all: readonly string[]) =>
      waitUntil('every payment is completed', async () => {
        const statuses = await Promise.all(all.map(statusOf));
        return statuses.every((status) => status === OrderStatus.COMPLETED);
      }),
    backUp: () => backupTools.write(urls, folder, () => undefined),
    /** Stops what uses the database, deletes it, and restores the backup into a new one. */
    async loseAndRestore(): Promise<void> {
      await Promise.all([...stack.webhooks, ...stack.cores].map((process) => process.stop()));
      await loseDatabase(stack.databaseUrl);
      await backupTools.restore(urls, folder, () => undefined);
    },
    async startCore(settings: Readonly<Record<string, string>> = {}): Promise<GatehouseProcess> {
      const port = stack.addresses[0]?.split(':').at(-1) ?? '';
      const core = await startInline('core', {
        ...stack.coreSettings,
        GATEHOUSE_CORE_GRPC_PORT: port,
        ...settings,
      });
      closers.push(() => core.stop());
      await waitUntil('the facade has connected again', async () => {
        const { status } = await shop.verify('unknown');
        return status === 404 || status === 503;
      });
      return core;
    },
    async startWebhooks(): Promise<void> {
      const webhooks = await startInline('webhooks', stack.webhookSettings);
      closers.push(() => webhooks.stop());
    },
    /** All events are sealed, and nothing differs that the restore does not explain. */
    async nothingWasChanged(): Promise<void> {
      const audit = stack.client(AuditService, 'reader');
      const verify = async () => {
        const messages: (AuditFinding | AuditSummary)[] = [];
        for await (const { message } of audit.verifyEvents({}))
          if (message.value !== undefined) messages.push(message.value);
        return messages;
      };
      const found = await waitUntil('all events are sealed', async () => {
        const messages = await verify();
        const summary = messages.at(-1);
        return summary?.$typeName === 'gatehouse.v1.AuditSummary' && summary.waitingEventCount === 0n
          ? messages
          : undefined;
      });
      expect(found).toEqual([expect.objectContaining({ findingCount: 0n, explainedCount: 0n })]);
    },
    isOpen: async () => {
      const now = await recovery();
      return now !== undefined && !now.closedEnvironments.includes(Environment.SANDBOX) ? now : undefined;
    },
    /** How often the wallet charged each payer. */
    async charges(): Promise<Map<string, number>> {
      const response = await fetch(`${stack.simulatorUrl}/simulator/charges`);
      const { charges } = (await response.json()) as {
        readonly charges: readonly { readonly payer: string }[];
      };
      const all = new Map<string, number>();
      for (const { payer } of charges) {
        const phone = payer.replace(/^\+/, '');
        all.set(phone, (all.get(phone) ?? 0) + 1);
      }
      return all;
    },
  };
}

test('a restored gateway rebuilds what the broker knows, and no repeated request charges a customer again', async () => {
  const drill = await openDrill();
  const { shop } = drill;
  const before = numbers('B', 1, 8);
  const openBefore = numbers('O', 101, 3);
  await drill.pay(before);
  for (const number of openBefore) await shop.register(number);
  await drill.allCompleted(before);
  await drill.backUp();

  const after = numbers('A', 201, 12);
  const registeredAfter = numbers('R', 301, 4);
  await drill.pay([...after, ...openBefore]);
  for (const number of registeredAfter) expect((await shop.register(number)).status).toBe(201);
  await drill.allCompleted([...after, ...openBefore]);
  const charged = await drill.charges();
  await drill.loseAndRestore();
  await drill.startCore();

  const open = await waitUntil('the sandbox is open', drill.isOpen);
  expect(open).toMatchObject({ stream: RecoveryStream.COMPLETE, conflictingOrderCount: 0 });
  expect(open.rebuiltOrderCount).toBe(after.length + openBefore.length + registeredAfter.length);
  await drill.allCompleted([...before, ...after, ...openBefore]);
  for (const number of registeredAfter) expect((await shop.register(number)).status).toBe(201);
  for (const number of [...before, ...after])
    expect(await shop.pay(number)).toMatchObject({ status: 201, body: { payment_status: 'COMPLETED' } });
  expect(await drill.charges()).toEqual(charged);
  await drill.nothingWasChanged();
});

test('with the broker lost too, the wallets alone keep lost orders from being charged again', async () => {
  const drill = await openDrill();
  const { shop } = drill;
  const before = numbers('B', 1, 4);
  const openBefore = numbers('O', 101, 3);
  const neverPaid = numbers('N', 151, 2);
  await drill.pay(before);
  for (const number of [...openBefore, ...neverPaid]) await shop.register(number);
  await drill.allCompleted(before);
  await drill.backUp();

  const after = numbers('A', 201, 6);
  await drill.pay([...after, ...openBefore]);
  await drill.allCompleted([...after, ...openBefore]);
  await shop.register('L-0501');
  const charged = await drill.charges();
  await drill.loseAndRestore();
  // Until the settle time has passed, the gateway stays closed.
  const broker = await startTemporaryNats();
  closers.push(broker.stop);
  const newBroker = { GATEHOUSE_NATS_URL: broker.url };
  const closed = await drill.startCore({ ...newBroker, GATEHOUSE_RECOVERY_SETTLE_SECONDS: '3600' });
  await waitUntil('the stream was looked for', async () => {
    const now = await drill.recovery();
    return now?.stream === RecoveryStream.LOST && now.closedEnvironments.length === 2;
  });
  const refused = await Promise.all([shop.pay(after[0]!), shop.register(after[1]!), shop.verify('L-0501')]);
  const body = { code: 503, message: expect.stringContaining('recovers') };
  expect(refused).toMatchObject(refused.map(() => ({ status: 503, retryAfter: '30', body })));
  // What the database knows is answered as ever, and nothing is charged.
  expect(await drill.statusOf(before[0]!)).toBe(OrderStatus.COMPLETED);
  expect((await shop.register(neverPaid[0]!)).status).toBe(201);
  expect((await shop.pay(neverPaid[0]!)).status).toBe(503);
  await closed.stop();

  await drill.startCore(newBroker);
  const open = await waitUntil('the sandbox is open', drill.isOpen);
  const walleta = open.wallets.find(
    ({ wallet, environment }) => wallet === 'walleta' && environment === Environment.SANDBOX,
  );
  expect(walleta).toMatchObject({
    state: RecoveredWalletState.READ,
    unclaimedPaymentCount: after.length + openBefore.length,
  });
  // Orders of the backup get their payments back at once. A shop must name the others.
  await drill.allCompleted(openBefore);
  expect((await shop.verify('L-0501')).status).toBe(404);
  for (const number of after) expect((await shop.pay(number)).status).toBe(201);
  await drill.allCompleted(after);
  expect(await drill.charges()).toEqual(charged);

  // Other orders are paid as usual.
  const others = [...neverPaid, ...numbers('X', 401, 1)];
  await drill.pay(others);
  await drill.allCompleted(others);
  await drill.nothingWasChanged();
});
