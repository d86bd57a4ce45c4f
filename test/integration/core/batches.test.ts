import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { CallOptions } from '@connectrpc/connect';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { holdOrders } from '../../support/hold-orders.ts';
import type { HeldOrders } from '../../support/hold-orders.ts';
import { directPayment, orderNamed, registration } from '../../support/order-requests.ts';
import { failureOf, refusalOf } from '../../support/rpc-failure.ts';
import { hangMs, waitUntil } from '../../support/wait-until.ts';
import { sharedStack, sharedClient, sharedConnection } from '../../support/shared-stack.ts';
import { sql } from '../../support/sql.ts';

let merchantId: string;
let held: HeldOrders | undefined;

// With the limit on prompts, as it is in production: direct payments reserve their phones in the same transaction.
const settings = { GATEHOUSE_PHONE_PROMPTS_PER_10_MINUTES: '5' };
const stack = sharedStack({ cores: 1, facades: 0, settings });
const orders = sharedClient(stack, OrderService, 'writer');
const database = sharedConnection(() => stack.databaseUrl);
beforeAll(async () => {
  ({ id: merchantId } = await stack.createMerchant());
});

afterEach(letGo);

async function letGo(): Promise<void> {
  await held?.letGo();
  held = undefined;
}

let phones = 0;
const nextPhone = (): string => `09${String(10_000_000 + (phones += 1))}`;
type Keyed = { readonly idempotencyKey: string };
const keyOf = (orderNumber: string): Keyed => ({ idempotencyKey: `key of ${orderNumber}` });
const noKey = (): Keyed => ({ idempotencyKey: '' });
const registrationOf = (orderNumber: string, keyed = noKey()) => ({
  ...registration({ merchantId, orderNumber }),
  ...keyed,
});
const paymentOf = (orderNumber: string, keyed = noKey()) => ({
  ...directPayment({ merchantId, orderNumber, phone: nextPhone() }),
  ...keyed,
});

interface Writing {
  readonly name: string;
  readonly method: string;
  readonly one: (orderNumber: string, options?: CallOptions) => Promise<unknown>;
  readonly batch: (orderNumbers: readonly string[], options?: CallOptions) => Promise<(string | undefined)[]>;
  /** The largest number of commits for 300 calls that wait together. */
  readonly commitsOf300: number;
}

const casesOf = ({ results }: { results: readonly { result: { case: string | undefined } }[] }) =>
  results.map(({ result }) => result.case);
const registrations = (keyOfCall: typeof keyOf): Omit<Writing, 'name' | 'method'> => {
  const requestOf = (orderNumber: string) => registrationOf(orderNumber, keyOfCall(orderNumber));
  return {
    one: (orderNumber, options) => orders.registerOrder(requestOf(orderNumber), options),
    batch: async (orderNumbers, options) =>
      casesOf(await orders.batchRegisterOrders({ requests: orderNumbers.map(requestOf) }, options)),
    commitsOf300: 1,
  };
};
const directPayments = (keyOfCall: typeof keyOf): Omit<Writing, 'name' | 'method'> => {
  const requestOf = (orderNumber: string) => paymentOf(orderNumber, keyOfCall(orderNumber));
  return {
    one: (orderNumber, options) => orders.startDirectPayment(requestOf(orderNumber), options),
    batch: async (orderNumbers, options) =>
      casesOf(await orders.batchStartDirectPayments({ requests: orderNumbers.map(requestOf) }, options)),
    // A hundred in each, for the locks of their phones.
    commitsOf300: 3,
  };
};

const writings: Writing[] = [
  { name: 'registrations', method: 'RegisterOrder', ...registrations(noKey) },
  { name: 'registrations with idempotency keys', method: 'KeyedRegisterOrder', ...registrations(keyOf) },
  { name: 'direct payments', method: 'StartDirectPayment', ...directPayments(noKey) },
  { name: 'direct payments with idempotency keys', method: 'KeyedDirectPayment', ...directPayments(keyOf) },
];

const numbers = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`);

async function writtenNumbers(prefix: string): Promise<string[]> {
  const { rows } = await database.query<{ order_number: string }>(sql`
    select order_number from core.orders where starts_with(order_number, ${prefix}) order by order_number`);
  return rows.map((row) => row.order_number);
}

async function commitsOf(prefix: string): Promise<number> {
  const { rows } = await database.query<{ count: number }>(sql`select count(distinct e.xid)::int as count
    from core.orders o join core.order_events e on e.merchant_id = o.merchant_id and e.order_id = o.id
    where starts_with(o.order_number, ${prefix})`);
  return rows[0]?.count ?? 0;
}

/** For calls that wait until the test lets them go. On a busy machine that can take longer than the default deadline. */
const patient: CallOptions = { timeoutMs: hangMs };

/** Three statements that wait for the database, which is the limit of concurrent ones. */
async function fill(
  prefix: string,
  { one }: Pick<Writing, 'one'>,
  waits: HeldOrders,
): Promise<Promise<unknown>[]> {
  const filling: Promise<unknown>[] = [];
  for (const orderNumber of numbers(`${prefix}-first`, 3)) {
    filling.push(one(orderNumber, patient));
    await waits.untilStatementsWait(filling.length);
  }
  return filling;
}

/** Calls go to core over one connection, in sequence. When this one is answered, the earlier ones have arrived. */
const untilArrived = async (): Promise<void> => {
  expect(await refusalOf(orders.registerOrder({ merchantId }))).toBe('INVALID_FIELDS');
};

const lineOf = (requestId: string) =>
  waitUntil(`core has ended ${requestId}`, () =>
    stack.cores[0]?.log.find((line) => line['request_id'] === requestId),
  );

describe.each(writings)('$name', (writing) => {
  const { one, batch, method, commitsOf300 } = writing;

  test('that arrive while three statements run share as few commits as possible, and no fourth statement runs', async () => {
    const prefix = `together-${method}`;
    held = await holdOrders(stack.databaseUrl, 'inserts');
    const first = await fill(prefix, writing, held);

    const calls = numbers(prefix, 300).map((orderNumber) => one(orderNumber, patient));
    await untilArrived();
    expect(await held.statementsWaiting()).toBe(3);
    await letGo();
    await Promise.all([...first, ...calls]);

    expect(await writtenNumbers(prefix)).toHaveLength(303);
    // A call that had been late for the others would add one commit.
    expect(await commitsOf(prefix)).toBeLessThanOrEqual(3 + commitsOf300 + 3);
  });

  test('that arrive alone wait for no others, and each has a commit of its own', async () => {
    const prefix = `alone-${method}`;

    for (const orderNumber of numbers(prefix, 5)) await one(orderNumber);

    expect(await commitsOf(prefix)).toBe(5);
  });

  test('are all written except the one that PostgreSQL refuses', async () => {
    const prefix = `refused-${method}`;
    await database.query(`
      alter table core.orders add constraint no_bad_ones check (order_number not like 'refused-%-bad%')`);
    try {
      const [results, bad, ...others] = await Promise.all([
        batch([`${prefix}-1`, `${prefix}-bad-1`, `${prefix}-2`]),
        failureOf(one(`${prefix}-bad-2`)),
        one(`${prefix}-3`),
        one(`${prefix}-4`),
      ]);

      expect(results).toEqual(['response', 'error', 'response']);
      expect(bad).toMatchObject({ code: 'Internal', reason: 'INTERNAL' });
      expect(others).toHaveLength(2);
      expect(await writtenNumbers(prefix)).toEqual(numbers(prefix, 5).slice(1));
    } finally {
      await database.query('alter table core.orders drop constraint no_bad_ones');
    }
  });
});

// Core limits the lines of failed calls, so this waits for the lines of two kinds of calls only.
test.each(writings.filter(({ method }) => !method.startsWith('Keyed')))(
  '$name are never written when the caller disconnects or the deadline passes before',
  async (writing) => {
    const { one, batch, method } = writing;
    const prefix = `left-${method}`;
    held = await holdOrders(stack.databaseUrl, 'inserts');
    const first = await fill(prefix, writing, held);
    const leave = new AbortController();
    const given = (kind: string, index: number): CallOptions => ({
      headers: { 'x-request-id': `${prefix}-${kind}-${index}` },
      ...(kind === 'gone' ? { signal: leave.signal } : { timeoutMs: kind === 'late' ? 500 : hangMs }),
    });

    const stayed = numbers(`${prefix}-stayed`, 20).map((orderNumber, index) =>
      one(orderNumber, given('stayed', index)),
    );
    const left = ['gone', 'late'].flatMap((kind) => [
      ...numbers(`${prefix}-${kind}`, 20).map((orderNumber, index) => one(orderNumber, given(kind, index))),
      batch(numbers(`${prefix}-${kind}-batch`, 20), given(kind, 20)),
    ]);
    const failures = Promise.allSettled(left);
    await untilArrived();
    leave.abort();
    expect(new Set((await failures).map(({ status }) => status))).toEqual(new Set(['rejected']));
    for (const kind of ['gone', 'late']) {
      for (let index = 0; index <= 20; index += 1) await lineOf(`${prefix}-${kind}-${index}`);
    }
    await letGo();
    await Promise.all([...first, ...stayed]);

    const expected = [...numbers(`${prefix}-first`, 3), ...numbers(`${prefix}-stayed`, 20)];
    expect(await writtenNumbers(prefix)).toEqual(expected.toSorted());
  },
);

test('in one statement, a registration whose key has an answer adds no order, and one whose answer has expired adds it', async () => {
  for (const orderNumber of ['known', 'reused', 'expired'])
    await orders.registerOrder(registrationOf(`first-${orderNumber}`, keyOf(orderNumber)));
  await database.query(sql`update core.idempotency_keys set expires_at = now() - interval '1 second'
    where key = ${keyOf('expired').idempotencyKey}`);
  const requests = [
    registrationOf('first-known', keyOf('known')),
    registrationOf('then-reused', keyOf('reused')),
    registrationOf('then-expired', keyOf('expired')),
    registrationOf('then-new', keyOf('new')),
    registrationOf('then-unkeyed'),
  ];

  const { results } = await orders.batchRegisterOrders({ requests });
  const again = await orders.batchRegisterOrders({ requests: requests.slice(0, 4) });

  const answers = results.map(({ result }) =>
    result.case === 'response'
      ? [result.value.order?.orderNumber, result.value.repeated]
      : result.value?.message,
  );
  expect(answers).toEqual([
    ['first-known', false],
    expect.stringContaining('idempotency key'),
    ['then-expired', false],
    ['then-new', false],
    ['then-unkeyed', false],
  ]);
  expect(again.results).toEqual(results.slice(0, 4));
  expect(await writtenNumbers('then-')).toEqual(['then-expired', 'then-new', 'then-unkeyed']);
  expect(await commitsOf('then-')).toBe(1);
});

test('registrations can be answered with only the ids of their orders, also with an idempotency key', async () => {
  const requests = ['ids-1', 'ids-2'].map((orderNumber, index) => ({
    ...registrationOf(orderNumber),
    idempotencyKey: index === 0 ? '' : 'ids-2',
  }));
  const answersTo = async (orderIdsOnly: boolean) =>
    (await orders.batchRegisterOrders({ requests, orderIdsOnly })).results.map(({ result }) =>
      result.case === 'response' ? result.value : undefined,
    );

  const brief = await answersTo(true);
  const again = await answersTo(true);
  const full = await answersTo(false);

  expect(brief.map((response) => response?.order?.orderNumber)).toEqual(['', '']);
  expect(full.map((response) => response?.order?.orderNumber)).toEqual(['ids-1', 'ids-2']);
  for (const answers of [again, full])
    expect(answers.map((response) => [response?.order?.orderId, response?.checkoutUrl])).toEqual(
      brief.map((response) => [response?.order?.orderId, response?.checkoutUrl]),
    );
  expect(brief.every((response) => response?.checkoutUrl.includes('/c/'))).toBe(true);
});

describe('reads', () => {
  const find = (orderNumber: string, options?: CallOptions) =>
    orders.getOrder(orderNamed(merchantId, orderNumber), options);

  test('that arrive while three statements run share one more statement, and each gets its own answer', async () => {
    await Promise.all(
      numbers('read', 40).map((orderNumber) => orders.registerOrder(registrationOf(orderNumber))),
    );
    held = await holdOrders(stack.databaseUrl, 'reads');
    const first = await fill('read', { one: (orderNumber) => failureOf(find(orderNumber)) }, held);

    const found = numbers('read', 40).map((orderNumber) => find(orderNumber));
    const missing = numbers('missing', 20).map((orderNumber) => failureOf(find(orderNumber)));
    await untilArrived();
    await held.letThrough();
    await Promise.all(first);
    await held.untilStatementsWait(1);
    await untilArrived();
    expect(await held.statementsWaiting()).toBe(1);
    await letGo();

    expect((await Promise.all(found)).map(({ order }) => order?.orderNumber)).toEqual(numbers('read', 40));
    expect(new Set((await Promise.all(missing)).map(({ reason }) => reason))).toEqual(
      new Set(['ORDER_NOT_FOUND']),
    );
  });

  test('whose caller has disconnected are never executed', async () => {
    held = await holdOrders(stack.databaseUrl, 'reads');
    const first = await fill('unread', { one: (orderNumber) => failureOf(find(orderNumber)) }, held);
    const leave = new AbortController();

    const left = numbers('gone', 15).map((value) => find(value, { signal: leave.signal }));
    const failures = Promise.allSettled(left);
    await untilArrived();
    leave.abort();
    await failures;
    // Core reads the connection in its sequence, so it knows now that the callers have left.
    await untilArrived();
    await held.letThrough();
    await Promise.all(first);
    // By now, another statement would have begun.
    await untilArrived();

    expect(await held.statementsWaiting()).toBe(0);
  });
});
