import { randomInt } from 'node:crypto';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { storedId } from '../../support/ids.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sharedPaymentDesk } from './payment-desk.ts';
import { anyHistory, play, serve, subjectOf } from './payment-histories.ts';
import type { Subject } from './payment-histories.ts';
import { sharedStack } from '../../support/shared-stack.ts';
import { sql } from '../../support/sql.ts';

// Callbacks, queries, repeats, killed workers, the end of the session, cancellations and further attempts, all
// concurrent on two cores and one PostgreSQL. The seed decides the steps. Their sequence depends on the machine.

const seed = Number(process.env['GATEHOUSE_TEST_SEED'] ?? randomInt(2 ** 31));
const histories = 100;

const stack = sharedStack({ cores: 2, facades: 0 });
const desk = sharedPaymentDesk(stack);

async function begin(merchantId: string): Promise<Subject[]> {
  const sampled = fc.sample(anyHistory, { seed, numRuns: histories });
  return Promise.all(
    sampled.map(async (history, index) => {
      const orderNumber = `H-${index}`;
      if (history.isHosted)
        return subjectOf(await desk.registerHosted({ merchantId, orderNumber }), orderNumber, history);
      const direct = await desk.startDirect({ merchantId, orderNumber });
      return subjectOf({ ...direct, token: '' }, orderNumber, history);
    }),
  );
}

/** Serves everything that is due until it is stopped, without the usual pauses. */
async function work(byOrder: ReadonlyMap<string, Subject>, stop: AbortSignal): Promise<string[]> {
  const faults: string[] = [];
  while (!stop.aborted) {
    await desk.query(`
      update core.payment_attempts set due_at = now() where due_at > now() and leased_until is null`);
    const leased = await desk.lease();
    const served = leased.map((lease) => {
      const subject = byOrder.get(lease.paymentAttempt?.orderId ?? '');
      return subject === undefined
        ? Promise.resolve(['a lease of an order that is not ours'])
        : serve(desk, subject, lease);
    });
    faults.push(...(await Promise.all(served)).flat());
  }
  return faults;
}

/** Reads everything as one snapshot, again and again, and looks for violated invariants. */
async function watch(stop: AbortSignal): Promise<string[]> {
  const faults: string[] = [];
  const ended = new Map<string, string>();
  while (!stop.aborted) {
    const rows = await desk.query<{ id: string; status: string; open: number }>(`select o.id, o.status,
        (select count(*)::int from core.payment_attempts a
         where a.order_id = o.id and a.status in ('REQUESTED', 'SENT', 'UNKNOWN')) as open
      from core.orders o where o.status <> 'PENDING'`);
    for (const { id, status, open } of rows) {
      if (open > 0) faults.push(`order ${id} is ${status} while an attempt is open`);
      const before = ended.get(id);
      if (before !== undefined && before !== status)
        faults.push(`order ${id} was ${before} and is ${status}`);
      ended.set(id, status);
    }
  }
  return faults;
}

async function faultsOf({ order, told }: Subject): Promise<string[]> {
  const id = storedId('ord', order.orderId);
  const [[row], attempts, events, strays] = await Promise.all([
    desk.query<{ status: string; deducted: string; last: number; count: number }>(sql`
      select status, deducted_minor_units::text as deducted, last_event_sequence as last, attempt_count as count
      from core.orders where id = ${id}`),
    desk.query<{ status: string; txn: string | null }>(sql`
      select status, provider_transaction_id as txn from core.payment_attempts where order_id = ${id}`),
    desk.query<{ sequence: number; type: string }>(sql`
      select sequence, type from core.order_events where order_id = ${id} order by sequence`),
    desk.query<{ txn: string }>(sql`
      select provider_transaction_id as txn from core.stray_payments where order_id = ${id}`),
  ]);
  const faults: string[] = [];
  const must = (holds: boolean, what: string): void => {
    if (!holds) faults.push(`${order.orderId}: ${what}`);
  };
  const succeeded = attempts.filter(({ status }) => status === 'SUCCEEDED');
  must(
    succeeded.length === (row?.status === 'COMPLETED' ? 1 : 0),
    `${succeeded.length} successes, ${row?.status}`,
  );
  must(row?.deducted === (row?.status === 'COMPLETED' ? '10050' : '0'), `deducted ${row?.deducted}`);
  must(attempts.length === row?.count, 'the attempts are not counted right');
  must(attempts.length <= 5, 'more than five attempts');
  must(
    events.every(({ sequence }, index) => sequence === index + 1) && events.length === row?.last,
    `events ${JSON.stringify(events)}`,
  );
  const endings = events.filter(({ type }) => ['COMPLETED', 'FAILED', 'EXPIRED'].includes(type));
  must(
    endings.length === 1 && events.at(-1)?.type === row?.status,
    `${row?.status} after ${JSON.stringify(events)}`,
  );
  const accounted = [...succeeded, ...strays].map(({ txn }) => txn).sort();
  must(new Set(accounted).size === accounted.length, `money counted twice: ${accounted.join()}`);
  const debited = [...told].filter((name) => name.startsWith('t-')).sort();
  must(debited.join() === accounted.join(), `debited ${debited.join()}, accounted for ${accounted.join()}`);
  return faults;
}

test(`no history breaks an invariant (GATEHOUSE_TEST_SEED=${seed})`, async () => {
  const { id: merchantId } = await stack.createMerchant();
  const subjects = await begin(merchantId);
  const byOrder = new Map(subjects.map((subject) => [subject.order.orderId, subject]));
  const done = new AbortController();
  const background = [work(byOrder, done.signal), work(byOrder, done.signal), watch(done.signal)];

  try {
    await Promise.all(subjects.map((subject) => play(desk, subject)));
    await Promise.all(subjects.map(({ order }) => desk.endSession(order)));
    await waitUntil('every order has ended', async () => {
      const rows = await desk.query(`select 1 from core.orders where status = 'PENDING' limit 1`);
      return rows.length === 0;
    });
    await waitUntil('nothing is due any more', async () => {
      const rows = await desk.query('select 1 from core.payment_attempts where due_at is not null limit 1');
      return rows.length === 0;
    });
  } finally {
    done.abort();
    await Promise.allSettled(background);
  }

  expect((await Promise.all(background)).flat()).toEqual([]);
  expect((await Promise.all(subjects.map(faultsOf))).flat()).toEqual([]);
});
