import { setTimeout as delay } from 'node:timers/promises';
import { seededRandom } from './random.ts';
import type { Reply, Shop } from './shop.ts';

/** The scenario of an order: the actions of its customer and of the shop. */
export type Story = 'direct' | 'checkout' | 'refund' | 'cancel' | 'odd';

/** An order of the load, as the shop knows it. */
export interface PlacedOrder {
  readonly orderNumber: string;
  readonly story: Story;
  readonly amount: string;
  readonly phone: string;
  readonly hasWebhook: boolean;
  readonly beganAtMs: number;
  /** Undefined until the gateway has answered 201. */
  acknowledgedAtMs: number | undefined;
  checkoutUrl: string;
  /** Every status that verify gave, without repeats. */
  readonly statuses: string[];
  refund: { readonly number: string; readonly amount: string; readonly statuses: string[] } | undefined;
  /** Answers that contradict earlier ones. */
  readonly contradictions: string[];
}

/** Customers who arrive at a steady rate, whatever the gateway does. */
export interface Load {
  readonly orders: readonly PlacedOrder[];
  /** Customers that did not arrive because too many were waiting. */
  readonly turnedAway: () => number;
  /** Lets no more customers arrive. */
  readonly stop: () => void;
  /** Resolves when the story of each customer has ended. */
  readonly ended: () => Promise<void>;
}

export interface LoadOptions {
  readonly shop: Shop;
  readonly cancel: (orderId: string) => Promise<void>;
  /** Reads a page of the checkout; undefined while there is none. */
  readonly visit: ((checkoutUrl: string) => Promise<void>) | undefined;
  readonly prefix: string;
  readonly webhookUrl: string;
  readonly ratePerSecond: number;
  readonly seed: number;
  readonly now: () => number;
  readonly giveUp: AbortSignal;
}

const weights: readonly (readonly [Story, number])[] = [
  ['direct', 0.4],
  ['checkout', 0.25],
  ['refund', 0.2],
  ['cancel', 0.1],
  ['odd', 0.05],
];
/** Payers whose wallet declines, loses answers, errs although it is paid, or calls back at odd moments. */
const oddRows = ['01', '03', '08', '10', '11', '12', '14', '17', '21'];
const maxConcurrent = 400;
const pollMs = 500;
/** One of this many acknowledged requests is sent again, as by a shop whose server has restarted. */
const repeatsOneIn = 4;

const isEnded = (status: string | undefined): boolean => status !== undefined && status !== 'PENDING';

/** Starts the load. Unique payers have phones of their own, so that the wallets' ledger names their order. */
export function startLoad(options: LoadOptions): Load {
  const { ratePerSecond, seed, now, prefix } = options;
  const orders: PlacedOrder[] = [];
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();
  let turnedAway = 0;

  const arrive = (index: number): void => {
    const random = seededRandom(seed * 1_000_003 + index);
    const story = storyOf(random());
    const wallet = random() < 0.5 ? '25190' : '25170';
    const row = oddRows[Math.floor(random() * oddRows.length)] ?? '01';
    const order: PlacedOrder = {
      orderNumber: `${prefix}-${index}`,
      story,
      amount: `${10 + (index % 490)}.${String(index % 100).padStart(2, '0')}`,
      phone: story === 'odd' ? `${wallet}00000${row}` : `${wallet}1${String(index).padStart(6, '0')}`,
      hasWebhook: story !== 'direct' && story !== 'odd',
      beganAtMs: now(),
      acknowledgedAtMs: undefined,
      checkoutUrl: '',
      statuses: [],
      refund: undefined,
      contradictions: [],
    };
    orders.push(order);
    const played = playOrder(order, index, options).catch((error: unknown) => {
      if (!options.giveUp.aborted) throw error;
    });
    running.add(played);
    void played.finally(() => running.delete(played)).catch(() => undefined);
  };
  // Also after a failure, so that nothing keeps the program running.
  const stopped = AbortSignal.any([stopping.signal, options.giveUp]);
  const isStopped = (): boolean => stopped.aborted;
  const arrivals = (async (): Promise<void> => {
    const beganAt = now();
    for (let index = 0; !isStopped(); index += 1) {
      const dueMs = beganAt + (index * 1_000) / ratePerSecond - now();
      if (dueMs > 0) await delay(dueMs, undefined, { signal: stopped }).catch(() => undefined);
      if (isStopped()) break;
      if (running.size < maxConcurrent) arrive(index);
      else turnedAway += 1;
    }
  })();
  return {
    orders,
    turnedAway: () => turnedAway,
    stop: () => stopping.abort(),
    ended: async () => {
      await arrivals;
      await Promise.all(running);
    },
  };
}

function storyOf(chance: number): Story {
  let left = chance;
  for (const [story, weight] of weights) {
    if (left < weight) return story;
    left -= weight;
  }
  return 'direct';
}

async function playOrder(order: PlacedOrder, index: number, options: LoadOptions): Promise<void> {
  const { shop } = options;
  const repeats = index % repeatsOneIn === 0;
  if (order.hasWebhook) {
    if (!(await registerOrder(order, repeats, options))) return;
    if (options.visit !== undefined && repeats) await options.visit(order.checkoutUrl);
  }
  if (order.story === 'cancel') {
    const { body } = await verifyOrder(order, shop);
    await options.cancel(body.data?.['order_id'] ?? '');
  } else if (!(await payOrder(order, repeats, options))) return;
  // A declined payment leaves its order open, so the customer is not waited for.
  if (order.story === 'odd') return;
  await untilEnded(order, options);
  if (order.story === 'refund' && order.statuses.at(-1) === 'COMPLETED') await refundOrder(order, options);
}

/** Whether the gateway took it. */
async function registerOrder(order: PlacedOrder, repeats: boolean, options: LoadOptions): Promise<boolean> {
  const { shop, webhookUrl, now } = options;
  const body = {
    order_number: order.orderNumber,
    return_url: 'https://shop.example/thanks',
    webhook_url: webhookUrl,
    amount: order.amount,
    currency: 'ETB',
    reason: `For ${order.orderNumber}`,
    customer_phone: order.phone,
  };
  const first = await shop.post('/api/v1/register', body);
  if (first.status !== 201) {
    order.contradictions.push(`register was answered ${describeReply(first)}`);
    return false;
  }
  order.checkoutUrl = first.body.data?.['checkout_url'] ?? '';
  order.acknowledgedAtMs = now();
  if (!repeats) return true;
  const again = await shop.post('/api/v1/register', body);
  if (again.status !== 201 || again.body.data?.['checkout_url'] !== order.checkoutUrl)
    order.contradictions.push(`the repeated registration was answered ${describeReply(again)}`);
  return true;
}

/** Whether the gateway took the payment. The payers with odd numbers are few, so they may be busy. */
async function payOrder(order: PlacedOrder, repeats: boolean, { shop, now }: LoadOptions): Promise<boolean> {
  const option = order.phone.startsWith('25170') ? 'walletb_ussd' : 'walleta_ussd';
  const path = `/api/v1/direct?payment_option=${option}`;
  const { orderNumber, amount, phone } = order;
  const body = { order_number: orderNumber, amount, currency: 'ETB', phone };
  const first = await shop.post(path, body);
  if (first.status !== 201) {
    order.contradictions.push(`direct was answered ${describeReply(first)}`);
    return false;
  }
  order.acknowledgedAtMs ??= now();
  if (!repeats) return true;
  const again = await shop.post(path, body);
  if (again.status !== 201)
    order.contradictions.push(`the repeated payment was answered ${describeReply(again)}`);
  return true;
}

const describeReply = ({ status, body }: Reply): string => `${status} ${JSON.stringify(body).slice(0, 200)}`;

async function verifyOrder(order: PlacedOrder, shop: Shop): Promise<Reply> {
  const reply = await shop.post('/api/v1/verify', { order_number: order.orderNumber }, { prefer: 'wait=5' });
  const status = reply.status === 200 ? (reply.body.data?.['status'] ?? '') : `answered ${reply.status}`;
  if (order.statuses.at(-1) !== status) order.statuses.push(status);
  return reply;
}

async function untilEnded(order: PlacedOrder, { shop, giveUp }: LoadOptions): Promise<void> {
  for (;;) {
    await verifyOrder(order, shop);
    const status = order.statuses.at(-1);
    if (isEnded(status)) return;
    await delay(pollMs, undefined, { signal: giveUp });
  }
}

async function refundOrder(order: PlacedOrder, { shop, giveUp }: LoadOptions): Promise<void> {
  const number = `${order.orderNumber}-R`;
  const amount = `${Math.floor(Number(order.amount) / 2)}.50`;
  const body = { order_number: order.orderNumber, refund_number: number, amount, reason: 'Came back' };
  const first = await shop.post('/api/v1/refund', body);
  if (first.status !== 201) {
    order.contradictions.push(`refund was answered ${describeReply(first)}`);
    return;
  }
  const statuses: string[] = [];
  order.refund = { number, amount, statuses };
  for (;;) {
    const { status, body: found } = await shop.post('/api/v1/refund/verify', { refund_number: number });
    const current = status === 200 ? (found.data?.['status'] ?? '') : `answered ${status}`;
    if (statuses.at(-1) !== current) statuses.push(current);
    if (isEnded(current)) return;
    await delay(pollMs, undefined, { signal: giveUp });
  }
}
