import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { randomUUID } from 'node:crypto';
import { listenLocally } from '../../support/listen-locally.ts';
import { Gatehouse, verifyWebhook } from '../../../clients/typescript/src/gatehouse-client.ts';
import type { OrderEvent } from '../../../clients/typescript/src/gatehouse-client.ts';
import { postJson } from '../../support/post-json.ts';

/**
 * A merchant's shop: POST /order places an order, GET /state returns its state, POST /hook receives webhooks, GET
 * /back is the return_url, which redirects to /thanks.
 */
export interface RunningShop {
  readonly origin: string;
  /** The address of the gateway. */
  readonly connect: (gateway: string) => void;
  readonly close: () => Promise<void>;
}

interface Memory {
  readonly fulfilled: Map<string, number>;
  readonly handled: Set<string>;
  latestAt: string;
}

const fulfil = ({ fulfilled }: Memory, number: string): void =>
  void fulfilled.set(number, (fulfilled.get(number) ?? 0) + 1);

type Register = (order: Order, gateway: string, key: string) => Promise<void>;
type Order = ReturnType<typeof newOrder>;

const newOrder = (origin: string) => ({
  order_number: `SHOP-${randomUUID()}`,
  return_url: `${origin}/back`,
  amount: '100.50',
  currency: 'ETB',
  reason: 'ሦስት መጻሕፍት',
  customer_phone: '0911223344',
});

const send = async (order: object, gateway: string, key: string, timeoutMs = 30_000): Promise<Response> =>
  postJson(`${gateway}/api/v1/register`, order, { apiKey: key }, AbortSignal.timeout(timeoutMs));

const byClient =
  (settings: { readonly retries?: number; readonly timeoutSeconds?: number } = {}): Register =>
  async (order, baseUrl, apiKey) => {
    await new Gatehouse({ apiKey, baseUrl, ...settings }).register(order);
  };

/** Like the client, except that one status or a lost answer is handled differently. */
const except =
  (
    isMeant: (failure: Response | Error) => boolean,
    change: (order: Order) => Order | undefined,
    timeoutMs?: number,
  ): Register =>
  async (order, gateway, key) => {
    const failure = await send(order, gateway, key, timeoutMs).catch((error: unknown) => error as Error);
    if ('status' in failure && failure.status === 201) return;
    if (isMeant(failure)) {
      const next = change(order);
      if (next !== undefined) await except(() => false, change)(next, gateway, key);
      return;
    }
    if ('status' in failure && failure.status === 400) return;
    const seconds = 'status' in failure ? Number(failure.headers.get('retry-after') ?? 0) : 0;
    await delay(seconds * 1000 + 50);
    await byClient()(order, gateway, key);
  };

const isStatus = (status: number) => (failure: Response | Error) =>
  'status' in failure && failure.status === status;
const isLost = (failure: Response | Error): boolean => !('status' in failure);
const isTimeout = (failure: Response | Error): boolean =>
  'name' in failure && failure.name === 'TimeoutError';
const renumbered = (order: Order): Order => ({ ...order, order_number: `SHOP-${randomUUID()}` });

/** The parts of a shop that can be replaced. */
interface Ways {
  readonly register: Register;
  /** Handles a genuine webhook. */
  readonly handle: (event: OrderEvent, memory: Memory) => void;
  /** Handles a webhook before its signature is verified. */
  readonly beforeVerifying: (event: OrderEvent, memory: Memory) => void;
  readonly visit: (memory: Memory, latest: string) => void;
}

const handleOnce = ({ id, type, data }: OrderEvent, memory: Memory): void => {
  if (memory.handled.has(id)) return;
  memory.handled.add(id);
  if (type === 'order.completed') fulfil(memory, data.order_number);
};

export const goodWays: Ways = {
  register: byClient(),
  handle: handleOnce,
  beforeVerifying: () => {},
  visit: () => {},
};

const fulfilling =
  (types: readonly string[]): Ways['handle'] =>
  (event, memory) =>
    handleOnce(types.includes(event.type) ? { ...event, type: 'order.completed' } : event, memory);

/** A correct shop whose customers return to a URL that is not its own. */
export const returnTo = (url: string): Partial<Ways> => ({
  register: (order, ...to) => byClient()({ ...order, return_url: url }, ...to),
});

/** Shops with one fault each, by the check that names it. */
export const brokenShops: Readonly<Record<string, Partial<Ways>>> = {
  places_order: { register: (order, ...to) => byClient()({ ...order, amount: '100,50' }, ...to) },
  repeats_lost_answer: { register: byClient({ retries: 0 }) },
  keeps_order_number: { register: except(isLost, renumbered) },
  // Its time limit is long enough for every other request of a busy machine, and too short for the slow answer.
  waits_for_slow_answer: { register: except(isTimeout, () => undefined, 5_000) },
  repeats_server_error: { register: except(isStatus(500), () => undefined) },
  respects_retry_after: { register: except(isStatus(429), (order) => order) },
  accepts_refusal: { register: except(isStatus(400), (order) => order) },
  return_proves_nothing: { visit: fulfil },
  forged_has_no_effect: {
    beforeVerifying: ({ type, data }, memory) => {
      if (type === 'order.completed' && !memory.fulfilled.has(data.order_number))
        fulfil(memory, data.order_number);
    },
    handle: () => {},
  },
  fulfils_paid_order: { handle: () => {} },
  fulfils_once: {
    handle: ({ type, data }, memory) => {
      if (type === 'order.completed') fulfil(memory, data.order_number);
    },
  },
  failed_not_fulfilled: { handle: fulfilling(['order.failed']) },
  expired_not_fulfilled: { handle: fulfilling(['order.expired']) },
  late_money: {
    handle: (event, memory) => {
      if (Date.now() - Date.parse(event.data.created_timestamp) < 30 * 60_000) handleOnce(event, memory);
    },
  },
  reordered_fulfilled: {
    handle: (event, memory) => {
      if (event.created_at < memory.latestAt) return;
      memory.latestAt = event.created_at;
      handleOnce(event, memory);
    },
  },
};

export async function startShop(
  secret: string,
  apiKey: string,
  { register, handle, beforeVerifying, visit }: Ways,
): Promise<RunningShop> {
  const memory: Memory = { fulfilled: new Map(), handled: new Set(), latestAt: '' };
  let gateway = '';
  let latest = '';
  const routes: Readonly<
    Record<
      string,
      (
        body: Buffer,
        request: Request,
      ) => Promise<[status: number, json?: object, headers?: Record<string, string>]>
    >
  > = {
    'POST /order': async () => {
      const order = newOrder(origin);
      latest = order.order_number;
      await register(order, gateway, apiKey);
      return [201, { order_number: order.order_number }];
    },
    'GET /state': async (_, { url }) => {
      const number = new URL(url).searchParams.get('order_number') ?? '';
      return [200, { order_number: number, fulfilled: memory.fulfilled.get(number) ?? 0 }];
    },
    'GET /back': async () => [302, {}, { location: '/thanks' }],
    'GET /thanks': async () => {
      visit(memory, latest);
      return [200];
    },
    'POST /hook': async (body, { headers }) => {
      beforeVerifying(JSON.parse(body.toString('utf8')) as OrderEvent, memory);
      const event = await verifyWebhook({ headers, body, secrets: [secret] }).catch(() => undefined);
      if (event === undefined) return [401];
      handle(event as OrderEvent, memory);
      return [204];
    },
  };
  const server = createServer((message, response) => {
    const answer = async (): Promise<void> => {
      const body = await buffer(message);
      const url = new URL(message.url ?? '/', origin);
      const request = new Request(url, { headers: message.headers as Record<string, string> });
      const [status, json, replyHeaders = {}] = (await routes[`${message.method} ${url.pathname}`]?.(
        body,
        request,
      )) ?? [404];
      response.writeHead(status, replyHeaders).end(json && JSON.stringify(json));
    };
    answer().catch(() => response.writeHead(500).end());
  });
  const { origin, close } = await listenLocally(server);
  return { origin, close, connect: (address) => void (gateway = address) };
}
