import type { Pool } from 'undici';

/** The request with a number. */
export type Request = (number: number) => {
  readonly path: string;
  readonly body: Readonly<Record<string, string>>;
};

const details = {
  amount: '100.50',
  currency: 'ETB',
  reason: 'Two pairs of shoes',
  customer_phone: '0911223344',
  return_url: 'https://shop.example/return',
  webhook_url: 'https://shop.example/hook',
};

/** Each number registers an order of its own. */
export const registration: Request = (number) => ({
  path: '/api/v1/register',
  body: { ...details, order_number: `C-${number}` },
});

const verifyOf =
  (prefix: 'S' | 'P') =>
  (orders: number): Request =>
  (number) => ({
    path: '/api/v1/verify',
    body: { order_number: `${prefix}-${String((number % orders) + 1).padStart(8, '0')}` },
  });

/** Verifies the seeded orders that ended, one after another. */
export const verifyEnded = verifyOf('S');
/** Verifies the seeded orders that are pending, one after another. */
export const verifyPending = verifyOf('P');

export interface RequestsToSend {
  /** Its connections determine how many requests wait at the same time. */
  readonly pool: Pool;
  readonly connections: number;
  readonly apiKey: string;
  /** The number before that of the first request. */
  readonly after: number;
  readonly count: number;
  readonly request: Request;
  /** More headers of each request. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends requests as fast as they are answered. @throws when one is refused */
export async function sendRequests(options: RequestsToSend): Promise<void> {
  const { pool, connections, apiKey, after, count, request, headers: more } = options;
  const headers = { apikey: apiKey, 'content-type': 'application/json', ...more };
  let last = after;
  const sendOnes = async (): Promise<void> => {
    while (last < after + count) {
      const { path, body } = request((last += 1));
      const answer = await pool.request({ method: 'POST', path, headers, body: JSON.stringify(body) });
      await answer.body.dump();
      if (answer.statusCode >= 300) throw new Error(`${path} answered ${answer.statusCode}`);
    }
  };
  await Promise.all(Array.from({ length: connections }, sendOnes));
}
