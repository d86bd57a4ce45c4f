import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { AuditService } from '../../src/gen/gatehouse/v1/audit_service_pb.js';
import type { AuditFinding, AuditSummary } from '../../src/gen/gatehouse/v1/audit_service_pb.js';
import { CheckSubject, DiagnosticsService } from '../../src/gen/gatehouse/v1/diagnostics_service_pb.js';
import { Environment, OrderStatus } from '../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../src/gen/gatehouse/v1/order_service_pb.js';
import { RecoveryService } from '../../src/gen/gatehouse/v1/recovery_service_pb.js';
import { backupTools } from '../../src/main/backup-tools.ts';
import type { GatehouseProcess } from '../support/gatehouse-process.ts';
import { startInline } from '../support/inline-process.ts';
import { startReceiver } from '../integration/webhooks/receivers.ts';
import { queryOnce } from '../support/database-connections.ts';
import { loseDatabase } from '../support/lose-database.ts';
import { startStack } from '../support/stack.ts';
import type { Stack, TestMerchant } from '../support/stack.ts';
import { insist, waitUntil } from '../support/wait-until.ts';
import { postJson } from '../support/post-json.ts';

interface Answer {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly body: {
    readonly message?: string;
    readonly payment_status?: string;
    readonly data?: Readonly<Record<string, string>>;
  };
}

/** A shop that repeats its requests with the same values, as the documentation asks. */
export class Shop {
  readonly #stack: Stack;
  readonly #key: string;
  readonly #webhookUrl: string;

  constructor(stack: Stack, merchant: TestMerchant, webhookUrl: string) {
    this.#stack = stack;
    this.#key = merchant.testKey;
    this.#webhookUrl = webhookUrl;
  }

  async #send(path: string, body: object): Promise<Answer> {
    const response = await postJson(`${this.#stack.facades[0]?.sandbox ?? ''}${path}`, body, {
      apiKey: this.#key,
    });
    const retryAfter = response.headers.get('retry-after');
    return { status: response.status, retryAfter, body: (await response.json()) as Answer['body'] };
  }

  pay(number: string, phone = phoneOf(number)): Promise<Answer> {
    return this.#send('/api/v1/direct?payment_option=walleta_ussd', {
      amount: '100.50',
      currency: 'ETB',
      order_number: number,
      phone,
    });
  }

  register(number: string): Promise<Answer> {
    return this.#send('/api/v1/register', {
      order_number: number,
      return_url: 'http://127.0.0.1/back',
      webhook_url: this.#webhookUrl,
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

export const numbers = (prefix: string, first: number, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${String(first + index).padStart(4, '0')}`);

/** How the database is backed up, lost and restored. The default is Gatehouse's own backup. */
export interface DatabaseOfDrill {
  readonly url: string;
  readonly backUp: () => Promise<void>;
  readonly loseAndRestore: () => Promise<void>;
}

/** A gateway whose database will be lost. It is closed by the functions that `closers` gets. */
export async function openDrill(closers: (() => unknown)[], other?: DatabaseOfDrill) {
  const stack = await startStack({
    wallets: 1,
    webhooks: 1,
    settings: {
      GATEHOUSE_RATE_LIMIT_PER_KEY: '0',
      GATEHOUSE_RECOVERY_SETTLE_SECONDS: '0',
      ...(other === undefined ? {} : { GATEHOUSE_DATABASE_URL: other.url }),
    },
  });
  closers.push(stack.stop);
  const merchant = await stack.createMerchant({ signsWebhooks: true });
  const receiver = await startReceiver();
  closers.push(receiver.close);
  const shop = new Shop(stack, merchant, `${receiver.origin}/hook`);
  const database = other ?? (await backupFolder(stack.databaseUrl, closers));
  const orders = stack.client(OrderService, 'reader');
  /** From core, because the facade answers completed orders from its cache. */
  const statusOf = (orderNumber: string) =>
    insist('core answers', async () => {
      const request = { merchantId: merchant.id, environment: Environment.SANDBOX };
      const found = await orders.getOrder({ ...request, key: { case: 'orderNumber', value: orderNumber } });
      return found.order?.status;
    });
  const recoveries = stack.client(RecoveryService, 'operator');
  /** Waits until the broker has every event of the database. */
  const allRelayed = () =>
    waitUntil('the broker has the events', async () => {
      const [row] = await queryOnce<{ relayed: boolean }>(
        database.url,
        `select (xid, position) >= (select xid, position from core.order_events order by xid desc, position desc limit 1) as relayed
         from core.event_relay`,
      );
      return row?.relayed === true;
    });
  // The client connects again by itself after core has started again.
  const recovery = () => insist('core answers', async () => (await recoveries.getRecovery({})).recovery);
  return {
    stack,
    merchant,
    shop,
    /** Of the webhooks of registered orders. */
    receiver,
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
    allRelayed,
    backUp: database.backUp,
    /** Stops what uses the database, deletes it, and restores the backup. The broker has all events by then. */
    async loseAndRestore(): Promise<void> {
      await allRelayed();
      await Promise.all([...stack.webhooks, ...stack.cores].map((process) => process.stop()));
      await database.loseAndRestore();
    },
    async startCore(settings: Readonly<Record<string, string>> = {}): Promise<GatehouseProcess> {
      const core = await stack.replaceCore(settings);
      // Before the broker that it may have.
      closers.push(core.stop);
      await waitUntil('the facade has connected again', async () => {
        const { status } = await shop.verify('unknown');
        return status === 404 || status === 503;
      });
      return core;
    },
    async startWebhooks(settings: Readonly<Record<string, string>> = {}): Promise<void> {
      const webhooks = await startInline('webhooks', { ...stack.webhookSettings, ...settings });
      closers.push(() => webhooks.stop());
    },
    /** All events are sealed, and every difference is explained by the restore. */
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
    /** Accepts the wallets of production as an operator, because no `wallets` process serves them here. */
    acceptProduction: async () => {
      const { PRODUCTION } = Environment;
      for (const { wallet, environment } of (await recovery())?.wallets ?? [])
        if (environment === PRODUCTION)
          await recoveries.acceptRecovery({
            subject: { case: 'wallet', value: { wallet, environment } },
            reason: 'nothing is used there',
          });
    },
    /** Doctor's check of the recovery. */
    recoveryCheck: async () => {
      const { checks } = await stack.client(DiagnosticsService, 'operator').diagnose({});
      return checks.find(({ subject }) => subject === CheckSubject.RECOVERY);
    },
    isOpen: async () => {
      const now = await recovery();
      return now !== undefined && !now.closedEnvironments.includes(Environment.SANDBOX) ? now : undefined;
    },
    /** The number of charges of each payer at the wallet. */
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

/** Gatehouse's own backup of a database, in a folder of its own. */
async function backupFolder(url: string, closers: (() => unknown)[]): Promise<DatabaseOfDrill> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-backup-'));
  closers.push(() => rm(folder, { recursive: true }));
  const urls = { core: url, webhooks: url };
  return {
    url,
    backUp: () => backupTools.write(urls, folder, () => undefined).then(() => undefined),
    async loseAndRestore() {
      await loseDatabase(url);
      await backupTools.restore(urls, folder, () => undefined);
    },
  };
}
