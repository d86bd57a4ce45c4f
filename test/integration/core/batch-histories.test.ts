import { randomInt } from 'node:crypto';
import { createClient } from '@connectrpc/connect';
import type { Client } from '@connectrpc/connect';
import { beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Environment, PaymentType } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import type { Status } from '../../../src/gen/google/rpc/status_pb.js';
import { storedId } from '../../support/ids.ts';
import { createGrpcTransport } from '../../../src/contract/grpc-transport.ts';
import { fromStatus } from '../../../src/platform/rpc/rpc-error.ts';
import { directPayment, registration } from '../../support/order-requests.ts';
import { describeFailure } from '../../support/rpc-failure.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { anyHistory, numbersOfHistory, takeIn } from './batch-model.ts';
import type { Answer, Answered, Batch, Item, KnownOrder, Round } from './batch-model.ts';
import { sharedStack, sharedPool, sharedClosers } from '../../support/shared-stack.ts';
import { sql } from '../../support/sql.ts';

// Concurrent batches to two cores, with the same order numbers in one batch, in several, and again later. The results are compared with a
// model that ignores batches and concurrency. The seed decides what is sent. Its sequence depends on the machine.

const seed = Number(process.env['GATEHOUSE_TEST_SEED'] ?? randomInt(2 ** 31));
const histories = 60;

let cores: Client<typeof OrderService>[];

const stack = sharedStack({ cores: 2, facades: 0 });
const database = sharedPool(() => stack.databaseUrl, 4);
const closers = sharedClosers();
beforeAll(() => {
  cores = stack.addresses.map((address) => {
    const transport = createGrpcTransport({ addresses: [address], token: stack.tokens.writer });
    closers.push(transport.close);
    return createClient(OrderService, transport);
  });
});

interface Subject {
  readonly merchantId: string;
  readonly history: readonly Round[];
  readonly nameOf: (number: number) => string;
  readonly known: Map<number, KnownOrder>;
}

type Result<Response> =
  | { readonly case: 'response'; readonly value: Response }
  | { readonly case: 'error'; readonly value: Status }
  | { readonly case: undefined; readonly value?: undefined };

interface AnyResponse {
  readonly order?: { readonly orderId: string; readonly paymentType: PaymentType } | undefined;
  readonly paymentAttempt?: { readonly paymentAttemptId: string } | undefined;
  readonly repeated?: boolean;
}

function answerOf({ result }: { readonly result: Result<AnyResponse> }): Answer {
  switch (result.case) {
    case 'error':
      return { reason: describeFailure(fromStatus(result.value)).reason ?? 'no reason' };
    case undefined:
      return { reason: 'nothing at all' };
    case 'response': {
      const { order, paymentAttempt, repeated = true } = result.value;
      return {
        orderId: order?.orderId ?? '',
        paymentType: order?.paymentType === PaymentType.DIRECT ? 'DIRECT' : 'API',
        attemptId: paymentAttempt?.paymentAttemptId ?? '',
        repeated,
      };
    }
  }
}

const isOverloaded = ({ answer }: Answered): boolean => 'reason' in answer && answer.reason === 'OVERLOADED';

async function send({ core, method, items }: Batch, { merchantId, nameOf }: Subject): Promise<Answered[]> {
  const orders = cores[core];
  if (orders === undefined) throw new Error('no such core');
  const common = (item: Item) => ({
    merchantId,
    orderNumber: nameOf(item.number),
    amount: 'amount' in item ? item.amount : 'no amount at all',
  });
  const results: readonly { readonly result: Result<AnyResponse> }[] = await {
    register: async () => {
      const requests = items.map((item) =>
        registration({ ...common(item), ...('reason' in item && { reason: item.reason }) }),
      );
      return (await orders.batchRegisterOrders({ requests })).results;
    },
    direct: async () => {
      const paymentOption = 'walleta_ussd';
      const requests = items.map((item) =>
        directPayment({ ...common(item), paymentOption, ...('phone' in item && { phone: item.phone }) }),
      );
      return (await orders.batchStartDirectPayments({ requests })).results;
    },
    get: async () => {
      const requests = items.map(({ number }) => ({
        merchantId,
        environment: Environment.SANDBOX,
        key: { case: 'orderNumber' as const, value: nameOf(number) },
      }));
      return (await orders.batchGetOrders({ requests })).results;
    },
  }[method]();
  if (results.length !== items.length) throw new Error(`${items.length} items, ${results.length} results`);
  return items.flatMap((item, index) => {
    const result = results[index];
    return result === undefined ? [] : [{ item, answer: answerOf(result) }];
  });
}

/** Sends a batch, and again what a busy core refused as OVERLOADED, as a client does. */
async function sendUntilTaken(batch: Batch, subject: Subject): Promise<Answered[]> {
  const taken: Answered[] = [];
  let { items } = batch;
  await waitUntil('core takes every item', async () => {
    const answered = await send({ ...batch, items }, subject);
    taken.push(...answered.filter((each) => !isOverloaded(each)));
    items = answered.filter(isOverloaded).map(({ item }) => item);
    return items.length === 0;
  });
  return taken;
}

async function endSession(order: KnownOrder): Promise<void> {
  const id = storedId('ord', order.orderId);
  await database.query(sql`update core.orders set expires_at = now(), sweep_at = now() where id = ${id}`);
  await waitUntil('the order has expired', async () => {
    const { rowCount } = await database.query(sql`
      select from core.orders where id = ${id} and status = 'EXPIRED'`);
    return rowCount === 1;
  });
  order.status = 'EXPIRED';
}

/** Plays a history, and returns every difference from the model. */
async function play(subject: Subject): Promise<string[]> {
  const faults: string[] = [];
  for (const { batches, endsSessionsOf } of subject.history) {
    const answered = (await Promise.all(batches.map((batch) => sendUntilTaken(batch, subject)))).flat();
    for (let number = 0; number < numbersOfHistory; number += 1) {
      const own = answered.filter(({ item }) => item.number === number);
      if (own.length === 0) continue;
      const found = takeIn(subject.known, number, own);
      faults.push(...found.map((fault) => `${subject.nameOf(number)}: ${fault}`));
    }
    for (const number of endsSessionsOf) {
      const order = subject.known.get(number);
      if (order?.status === 'PENDING') await endSession(order);
    }
  }
  return faults;
}

interface Stored {
  readonly order_number: string;
  readonly id: string;
  readonly story: string;
}

const stored = `
select o.order_number, o.id,
  concat_ws(' ', o.payment_type, o.amount_text, o.status,
    (select string_agg(e.sequence || e.type::text, ' ' order by e.sequence) from core.order_events e
     where e.merchant_id = o.merchant_id and e.order_id = o.id),
    (select count(*) from core.payment_attempts a where a.merchant_id = o.merchant_id and a.order_id = o.id)
  ) as story
from core.orders o where o.merchant_id = $1`;

function storyOf({ paymentType, amount, status, attempt }: KnownOrder): string {
  const events = [
    'CREATED',
    ...(attempt === undefined ? [] : ['PAYMENT_STARTED']),
    ...(status === 'EXPIRED' ? ['EXPIRED'] : []),
  ];
  const numbered = events.map((type, index) => `${index + 1}${type}`);
  return [paymentType, amount, status, ...numbered, attempt === undefined ? 0 : 1].join(' ');
}

test(`any mix of batches has the results that a simple model predicts (GATEHOUSE_TEST_SEED=${seed})`, async () => {
  const { id: merchantId } = await stack.createMerchant();
  const subjects = fc.sample(anyHistory, { seed, numRuns: histories }).map((history, index): Subject => ({
    merchantId,
    history,
    nameOf: (number) => `H${index}-${number}`,
    known: new Map(),
  }));

  // All at once, so that core writes requests of several histories together.
  const faults = (await Promise.all(subjects.map(play))).flat();

  expect(faults).toEqual([]);
  const { rows } = await database.query<Stored>(stored, [storedId('mer', merchantId)]);
  const expected = subjects.flatMap(({ known, nameOf }) =>
    [...known].map(([number, order]): Stored => ({
      order_number: nameOf(number),
      id: storedId('ord', order.orderId),
      story: storyOf(order),
    })),
  );
  const byNumber = (a: Stored, b: Stored): number => (a.order_number < b.order_number ? -1 : 1);
  expect(rows.toSorted(byNumber)).toEqual(expected.toSorted(byNumber));
});
