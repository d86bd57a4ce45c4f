import { setTimeout as delay } from 'node:timers/promises';
import { join } from 'node:path';
import { faultName } from '../../cli/prove/faults.ts';
import type { Fault } from '../../cli/prove/faults.ts';
import type { FaultResult } from '../../cli/prove/report.ts';
import type { Evidence } from './evidence.ts';
import { findLeaks } from './find-leaks.ts';
import type { CampaignGateway } from './gateway.ts';
import { webhookEvents } from './invariant.ts';
import { inflictFault, reasonNotPossible } from './inflict-fault.ts';
import type { FaultParts } from './inflict-fault.ts';
import { startLoad } from './load.ts';
import type { Load } from './load.ts';
import { createCampaignMerchant } from './merchant.ts';
import { readCharges, readRecords } from './records.ts';
import type { OrderRecord } from './records.ts';
import { openShop } from './shop.ts';
import type { Reply, Shop } from './shop.ts';
import type { SmallDisk } from './small-disk.ts';
import { openWebhookReceiver } from './webhook-receiver.ts';

/** A fault that is still to be done, in its round. */
export interface PlannedFault {
  readonly round: number;
  readonly fault: Fault;
}

export interface AttackOptions {
  readonly gateway: CampaignGateway;
  readonly folder: string;
  readonly disks: ReadonlyMap<string, SmallDisk>;
  readonly faults: readonly PlannedFault[];
  /** When no other fault begins; undefined without a limit. */
  readonly endsAtMs: number | undefined;
  readonly prefix: string;
  readonly seed: number;
  readonly ratePerSecond: number;
  readonly random: () => number;
  readonly report: (line: string) => void;
  /** Exits of processes so far, which the gateway's supervisor adds. */
  readonly exits: readonly { readonly name: string; readonly line: string }[];
  readonly signal: AbortSignal;
}

/** Orders before the first fault, so that every part is under load. */
const warmUpOrders = 5;
const calmMs = 1_500;
const servingLimitMs = 90_000;
const settleLimitMs = 5 * 60_000;
const pollMs = 500;
const refusesEach = 11;
const verifiersAtOnce = 8;
const verifyLimitMs = 120_000;

/** Puts a gateway under load, does the faults one after another, lets everything settle, and gathers what happened. */
export async function attack(options: AttackOptions): Promise<Evidence> {
  const { gateway, signal } = options;
  const merchant = await createCampaignMerchant(gateway);
  const receiver = await openWebhookReceiver(merchant.webhookSecret, refusesEach);
  const ending = new AbortController();
  const giveUp = AbortSignal.any([ending.signal, signal]);
  try {
    const shop = openShop(gateway.sandbox, merchant.apiKey, giveUp);
    const load = startLoad({
      shop,
      cancel: (orderId) => merchant.cancel(orderId, giveUp),
      visit: gateway.processes.has('checkout') ? visitPage : undefined,
      prefix: options.prefix,
      webhookUrl: `http://127.0.0.1:${await gateway.receiver(receiver.port)}/webhooks`,
      ratePerSecond: options.ratePerSecond,
      seed: options.seed,
      now: Date.now,
      giveUp,
    });
    await untilPaid(load, 0, warmUpOrders, gateway, signal);
    const faults = await doFaults(options, load);
    const faultsEndedAtMs = Date.now();
    load.stop();
    options.report('No more customers arrive. Waiting until every order, refund and webhook has ended');
    const settled = await untilSettled(options, load, merchant.storedId, receiver.exchanges);
    ending.abort();
    await load.ended();
    const { leaks, bytes } = await findLeaks(join(options.folder, 'logs'), [
      ...gateway.secrets,
      merchant.apiKey,
      merchant.webhookSecret,
    ]);
    return {
      orders: load.orders,
      finals: await verifyAll(load, (limit) => openShop(gateway.sandbox, merchant.apiKey, limit), signal),
      records: await readRecords(gateway.databaseUrl, merchant.storedId),
      charges: await readCharges(gateway.simulatorUrl),
      exchanges: receiver.exchanges,
      faults,
      exits: unexpectedExits(options.exits, faults),
      faultsEndedAtMs,
      decidedAtMs: settled,
      leaks,
      logBytes: bytes,
      turnedAway: load.turnedAway(),
      unanswered: shop.unanswered(),
    };
  } finally {
    ending.abort();
    merchant.close();
    await receiver.close();
  }
}

/** PostgreSQL and NATS may end themselves when their own disk is full. */
function unexpectedExits(exits: AttackOptions['exits'], faults: Evidence['faults']): string[] {
  const full = new Set(
    faults.filter(({ fault, tried }) => fault === 'disk' && tried).map(({ target }) => target),
  );
  return exits
    .filter(({ name }) => !((name === 'database' || name === 'broker') && full.has(name)))
    .map(({ line }) => line);
}

async function visitPage(checkoutUrl: string): Promise<void> {
  await fetch(checkoutUrl, { signal: AbortSignal.timeout(10_000) }).then(
    (response) => response.text(),
    () => undefined,
  );
}

const isPaid = ({ statuses }: Load['orders'][number]): boolean => statuses.includes('COMPLETED');

/**
 * Waits until every process is ready and so many orders that began after a moment are paid. Returns how long that took;
 * undefined when it took too long.
 */
async function untilPaid(
  load: Load,
  sinceMs: number,
  count: number,
  gateway: CampaignGateway,
  signal: AbortSignal,
): Promise<number | undefined> {
  const beganAt = performance.now();
  for (;;) {
    signal.throwIfAborted();
    const elapsed = performance.now() - beganAt;
    const paid = load.orders.filter((order) => order.beganAtMs >= sinceMs && isPaid(order));
    if (paid.length >= count && (await gateway.notReady()).length === 0) return elapsed;
    if (elapsed > servingLimitMs) return undefined;
    await delay(pollMs / 2, undefined, { signal });
  }
}

async function doFaults(options: AttackOptions, load: Load): Promise<readonly FaultResult[]> {
  const { gateway, signal, report, random, endsAtMs } = options;
  const parts: FaultParts = {
    gateway,
    random,
    signal,
    diskOf: (fault) => options.disks.get(faultName(fault)),
  };
  const results: FaultResult[] = [];
  for (const { round, fault } of options.faults) {
    const planned = { round, target: fault.target, fault: fault.kind };
    const problem = reasonNotPossible(fault, parts);
    if (problem !== undefined) {
      results.push(notTried(planned, problem));
      continue;
    }
    if (endsAtMs !== undefined && Date.now() > endsAtMs) {
      results.push({ ...notTried(planned, 'the time was over'), missed: true });
      continue;
    }
    await delay(calmMs, undefined, { signal });
    const beganAtMs = Date.now();
    const detail = await inflictFault(fault, parts);
    const endedAtMs = Date.now();
    const tookMs = await untilPaid(load, endedAtMs, 1, gateway, signal);
    const meanwhile = load.orders.filter(
      ({ acknowledgedAtMs: at = 0 }) => at >= beganAtMs && at <= endedAtMs,
    ).length;
    const after = tookMs === undefined ? null : Math.round(tookMs / 100) / 10;
    results.push({
      ...planned,
      tried: true,
      missed: false,
      detail,
      began_at: new Date(beganAtMs).toISOString(),
      lasted_seconds: (endedAtMs - beganAtMs) / 1_000,
      acknowledged_meanwhile: meanwhile,
      serving_again_after_seconds: after,
    });
    const seconds = ((endedAtMs - beganAtMs) / 1_000).toFixed(1);
    const outcome = after === null ? 'NOT serving again' : `serving again after ${after.toFixed(1)} s`;
    report(`${faultName(fault).padEnd(24)} ${seconds} s, ${outcome}`);
  }
  return results;
}

export const notTried = (
  planned: Pick<FaultResult, 'round' | 'target' | 'fault'>,
  detail: string,
): FaultResult => ({
  ...planned,
  tried: false,
  missed: false,
  detail,
  began_at: '',
  lasted_seconds: 0,
  acknowledged_meanwhile: 0,
  serving_again_after_seconds: null,
});

/** Waits until nothing is open any more, or the limit is reached. Returns when each order was seen to have ended. */
async function untilSettled(
  { gateway, signal }: AttackOptions,
  load: Load,
  merchantId: string,
  exchanges: Evidence['exchanges'],
): Promise<ReadonlyMap<string, number>> {
  const decidedAtMs = new Map<string, number>();
  const deadline = performance.now() + settleLimitMs;
  const stories = { haveEnded: false };
  load
    .ended()
    .finally(() => (stories.haveEnded = true))
    .catch(() => undefined);
  for (;;) {
    signal.throwIfAborted();
    const beganAt = performance.now();
    // The records show the state at this time. Reading them may take long.
    const nowMs = Date.now();
    const [records, charges] = await Promise.all([
      readRecords(gateway.databaseUrl, merchantId),
      readCharges(gateway.simulatorUrl),
    ]);
    const charged = new Set(charges.map(({ reference }) => reference));
    for (const { orderNumber, status } of records)
      if (status !== 'PENDING' && !decidedAtMs.has(orderNumber)) decidedAtMs.set(orderNumber, nowMs);
    const accepted = new Set(
      exchanges.filter(({ acceptedAt }) => acceptedAt !== undefined).map(({ eventId }) => eventId),
    );
    const isOpen = (record: OrderRecord): boolean => isUnsettled(record, charged, accepted);
    if (stories.haveEnded && !records.some(isOpen)) break;
    if (performance.now() > deadline) break;
    // Reading everything costs the gateway's database time, which the gateway needs.
    const tookMs = performance.now() - beganAt;
    await delay(Math.max(pollMs, 4 * tookMs), undefined, { signal });
  }
  return decidedAtMs;
}

const openAttempts = new Set(['REQUESTED', 'SENT', 'UNKNOWN']);

function isUnsettled(
  record: OrderRecord,
  charged: ReadonlySet<string>,
  accepted: ReadonlySet<string>,
): boolean {
  const { status, attempts, refunds, strays, events, hasWebhook } = record;
  return (
    (status === 'PENDING' && attempts.some(({ reference }) => charged.has(reference))) ||
    attempts.some((attempt) => openAttempts.has(attempt.status)) ||
    [...refunds, ...strays].some((each) => each.status === 'REVERSAL_DUE') ||
    (hasWebhook && events.some(({ type, eventId }) => webhookEvents.has(type) && !accepted.has(eventId)))
  );
}

/** Verifies every acknowledged order once more. Orders that could not be verified in time are missing. */
async function verifyAll(
  { orders }: Load,
  open: (limit: AbortSignal) => Shop,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Reply>> {
  const finals = new Map<string, Reply>();
  const limit = AbortSignal.any([signal, AbortSignal.timeout(verifyLimitMs)]);
  const shop = open(limit);
  const waiting = orders.filter(({ acknowledgedAtMs }) => acknowledgedAtMs !== undefined);
  const verify = async (): Promise<void> => {
    for (let order = waiting.pop(); order !== undefined; order = waiting.pop())
      finals.set(order.orderNumber, await shop.post('/api/v1/verify', { order_number: order.orderNumber }));
  };
  await Promise.allSettled(Array.from({ length: verifiersAtOnce }, verify));
  signal.throwIfAborted();
  return finals;
}
