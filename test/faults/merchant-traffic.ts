import { setTimeout as delay } from 'node:timers/promises';

export interface TrafficOptions {
  /** Where the facade listens. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** The number of clients. Each waits for an answer before its next request. */
  readonly clients: number;
}

/** A registration that was answered with 201. */
export interface AcknowledgedOrder {
  readonly orderNumber: string;
  readonly amount: string;
  readonly checkoutUrl: string;
}

/** A request without a successful answer. */
export interface Failed {
  readonly requestId: string;
  /** Undefined when the connection was refused or broken. */
  readonly status: number | undefined;
  readonly what: string;
  readonly retryAfter: string | null;
  readonly tookMs: number;
}

/**
 * Merchants' servers that register orders and check them, and repeat each request until it succeeds. They pause
 * between orders, because a test of lost orders needs requests in progress and not the full load of the machine.
 */
export interface Traffic {
  readonly acknowledged: readonly AcknowledgedOrder[];
  readonly failures: readonly Failed[];
  /** Wrong answers: another checkout_url for the same order, or an order with other values than those sent. */
  readonly contradictions: readonly string[];
  /** Sends further requests, repeats included, to another facade, as a load balancer does. */
  readonly moveTo: (baseUrl: string) => void;
  /** Starts no more orders. Resolves when those in progress are registered and checked. */
  readonly stop: () => Promise<void>;
  /** Verifies every acknowledged order, and returns those that differ from what was registered. */
  readonly findLost: () => Promise<string[]>;
}

interface Answer {
  readonly status: number;
  readonly body: { readonly message?: string; readonly data?: Readonly<Record<string, string>> };
}

const retryMs = 50;
const pauseMs = 100;
const answerTimeoutMs = 20_000;

export function startTraffic({ baseUrl, apiKey, clients }: TrafficOptions): Traffic {
  let target = baseUrl;
  const acknowledged: AcknowledgedOrder[] = [];
  const failures: Failed[] = [];
  const contradictions: string[] = [];
  let requests = 0;
  let stopped = false;

  const post = async (path: string, body: object): Promise<Answer | undefined> => {
    requests += 1;
    const requestId = `traffic-${requests}`;
    const startedAt = performance.now();
    const fail = (status: number | undefined, what: string, retryAfter: string | null = null): void => {
      failures.push({ requestId, status, what, retryAfter, tookMs: performance.now() - startedAt });
    };
    try {
      const response = await fetch(`${target}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', apiKey, 'x-request-id': requestId },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(answerTimeoutMs),
      });
      const text = await response.text();
      if (response.status < 400) return { status: response.status, body: JSON.parse(text) as Answer['body'] };
      fail(response.status, text, response.headers.get('retry-after'));
    } catch (error) {
      fail(undefined, reasonOf(error));
    }
    return undefined;
  };

  /** Repeats the same request until it succeeds. */
  const insist = async (path: string, body: object): Promise<Answer> => {
    for (;;) {
      const answer = await post(path, body);
      if (answer !== undefined) return answer;
      await delay(retryMs);
    }
  };

  const check = async ({ orderNumber, amount }: AcknowledgedOrder): Promise<string | undefined> => {
    const { body } = await insist('/api/v1/verify', { order_number: orderNumber });
    const { order_number: number, amount: amountThere, status, currency, reason } = body.data ?? {};
    const isSame =
      number === orderNumber &&
      amountThere === amount &&
      status === 'PENDING' &&
      currency === 'ETB' &&
      reason === `For ${orderNumber}`;
    return isSame ? undefined : `${orderNumber} came back as ${JSON.stringify(body)}`;
  };

  const registerOne = async (orderNumber: string, amount: string): Promise<void> => {
    const body = {
      order_number: orderNumber,
      amount,
      currency: 'ETB',
      reason: `For ${orderNumber}`,
      customer_phone: '0911223344',
      return_url: 'https://shop.example/return',
    };
    const first = await insist('/api/v1/register', body);
    const order = { orderNumber, amount, checkoutUrl: first.body.data?.['checkout_url'] ?? '' };
    acknowledged.push(order);
    const problem = await check(order);
    if (problem !== undefined) contradictions.push(problem);
    const again = await insist('/api/v1/register', body);
    if (again.body.data?.['checkout_url'] !== order.checkoutUrl || order.checkoutUrl === '')
      contradictions.push(`${orderNumber} got two checkout URLs`);
  };

  const run = async (client: number): Promise<void> => {
    for (let index = 0; !stopped; index += 1) {
      await registerOne(`T-${client}-${index}`, `${index + 1}.25`);
      await delay(pauseMs);
    }
  };
  const running = Array.from({ length: clients }, (_, client) => run(client));

  return {
    acknowledged,
    failures,
    contradictions,
    moveTo: (other) => {
      target = other;
    },
    stop: async () => {
      stopped = true;
      await Promise.all(running);
    },
    findLost: async () => {
      const waiting = [...acknowledged];
      const lost: string[] = [];
      const checkWaiting = async (): Promise<void> => {
        for (let order = waiting.pop(); order !== undefined; order = waiting.pop())
          lost.push(...((await check(order)) ?? []));
      };
      await Promise.all(Array.from({ length: clients }, checkWaiting));
      return lost;
    },
  };
}

/** The code of a broken connection, which `fetch` wraps. */
function reasonOf(error: unknown): string {
  const { cause } = error as { cause?: { code?: string; message?: string } };
  return cause?.code ?? cause?.message ?? String(error);
}
