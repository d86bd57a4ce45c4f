import { randomUUID } from 'node:crypto';
import { createWakeSignal } from '../../../src/platform/wake-signal.ts';
import { openDatabase } from '../../../src/webhooks/database/database.ts';
import type { Database } from '../../../src/webhooks/database/database.ts';
import { createDeliveryStore } from '../../../src/webhooks/delivery/delivery-store.ts';
import { startDispatching } from '../../../src/webhooks/delivery/dispatch-deliveries.ts';
import type { LogLine } from '../../support/gatehouse-process.ts';
import { testSender } from './outgoing.ts';
import { keptLog } from '../../support/kept-log.ts';

export interface DispatcherOptions {
  readonly leaseMs?: number;
  readonly deadlineMs?: number;
  readonly maxInFlight?: number;
  /** The error of its clock, in milliseconds. */
  readonly clockOffMs?: number;
  /** The secret of every owner; throws when it cannot be read. */
  readonly secret?: () => string;
}

export const openWebhooksDatabase = (url: string, applicationName = 'dispatch test'): Promise<Database> =>
  openDatabase({ url, poolSize: 6, applicationName, logger: keptLog().logger });

/** A dispatcher with database connections of its own, named `dispatcher`. */
export async function startDispatcher(
  databaseUrl: string,
  {
    leaseMs = 20_000,
    deadlineMs = 15_000,
    maxInFlight = 256,
    clockOffMs = 0,
    secret = () => 'whsec_c2VjcmV0',
  }: DispatcherOptions = {},
) {
  const database = await openWebhooksDatabase(databaseUrl, 'dispatcher');
  const { logger, log } = keptLog({ process: 'webhooks' });
  const signal = createWakeSignal();
  const stopping = new AbortController();
  const now = (): Date => new Date(Date.now() + clockOffMs);
  const sender = testSender({ totalMs: deadlineMs });
  const { leases, done } = startDispatching(
    {
      store: createDeliveryStore({
        ...{ database, newLeaseId: randomUUID, random: Math.random },
        ...{ leaseMs, machineNow: now },
      }),
      sender,
      secrets: { live: async () => ({ current: secret() }) },
      metrics: { attempted: () => {} },
      signal,
      logger,
      now,
      machineNow: now,
      random: Math.random,
      maxInFlight,
      deadlineMs,
    },
    stopping.signal,
  );
  return {
    log: log as readonly LogLine[],
    /** For an intake in the same process. */
    leases,
    ring: signal.ring,
    /** Asks it to stop, and waits until it has. */
    stop: async (): Promise<void> => {
      stopping.abort();
      await done;
      await sender.close();
      await database.close();
    },
  };
}
export type RunningDispatcher = Awaited<ReturnType<typeof startDispatcher>>;
