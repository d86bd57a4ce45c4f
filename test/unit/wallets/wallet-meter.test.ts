import { describe, expect, test } from '@jest/globals';
import type { PaymentOutcome, UnknownWhy } from '../../../src/wallets/connector/outcomes.ts';
import type { Answer, RawExchange } from '../../../src/wallets/connector/raw-exchange.ts';
import type { WalletConnector } from '../../../src/wallets/connector/wallet-connector.ts';
import type { WalletBreaker } from '../../../src/wallets/wallet-breaker.ts';
import { createWalletMeter, meterWindowMs } from '../../../src/wallets/wallet-meter.ts';
import { paymentQuery } from '../../support/wallet-queries.ts';

const exchange = (own: Partial<RawExchange>, latencyMs = 10): RawExchange => ({
  purpose: 'query',
  method: 'GET',
  url: 'https://wallet.example/',
  requestHeaders: {},
  requestBody: '',
  responseHeaders: {},
  responseBody: '',
  startedAt: new Date(1_000),
  endedAt: new Date(1_000 + latencyMs),
  ...own,
});

/** A wallet that answers with these exchanges, one for each call. */
function answering(exchanges: RawExchange[]): WalletConnector {
  const next = async () => ({ result: { kind: 'pending' as const }, exchanges: [exchanges.shift()!] });
  const never = (): never => {
    throw new Error('not asked here');
  };
  return {
    capabilities: {
      idempotentInitiate: true,
      payerNeedsAnswer: false,
      queryBy: 'attempt_id',
      recovery: true,
      reversal: true,
      partialReversal: false,
      statement: true,
      callbackMethod: 'PUT',
      callbackAuthentication: 'unguessable_url',
    },
    query: next,
    initiate: never,
    recover: never,
    parseCallback: never,
    reverse: never,
    queryReversal: next,
    statement: never,
    health: never,
    close: async () => undefined,
  };
}

const pageForToken = exchange({ purpose: 'token', status: 403, responseBody: '<html>Forbidden</html>' });

const unknown = (why: UnknownWhy, detail = ''): PaymentOutcome => ({ kind: 'unknown', why, detail });

const ask = (connector: WalletConnector) =>
  connector.query(paymentQuery({ attemptId: 'pat_1' }), { signal: new AbortController().signal });

describe('a wallet meter', () => {
  test('counts calls and failures, and measures the duration of answers', async () => {
    const meter = createWalletMeter(() => 0);
    const answers = [
      exchange({ status: 503 }, 30),
      exchange({ status: 200 }, 10),
      exchange({ status: 404 }, 20),
      exchange({ problem: 'timeout' }, 9_000),
    ];
    const connector = meter.measured(answering(answers));
    for (let index = 0; index < 4; index += 1) await ask(connector);

    expect(meter.read()).toEqual({ calls: 4, failures: 2, p50Ms: 20, p99Ms: 30 });
  });

  test('shows whether the credentials are refused, until a call is answered again', async () => {
    const answers: Answer<PaymentOutcome>[] = [
      { result: unknown('unauthenticated'), exchanges: [exchange({ status: 401 })] },
      { result: unknown('timeout'), exchanges: [exchange({ problem: 'timeout' })] },
      { result: { kind: 'pending' }, exchanges: [] },
      { result: { kind: 'pending' }, exchanges: [exchange({ status: 200 })] },
      // A firewall in front of the wallet answers.
      { result: unknown('not_asked'), exchanges: [pageForToken] },
      { result: unknown('not_asked', 'no access token'), exchanges: [{ ...pageForToken, responseBody: '' }] },
    ];
    const refusals: string[] = [];
    const meter = createWalletMeter(
      () => 0,
      undefined,
      (detail) => refusals.push(detail),
    );
    const connector = meter.measured({ ...answering([]), query: async () => answers.shift()! });
    const seen = [meter.areCredentialsRefused()];
    while (answers.length > 0) {
      await ask(connector);
      seen.push(meter.areCredentialsRefused());
    }

    expect(seen).toEqual([false, true, true, true, false, false, true]);
    expect(refusals).toEqual(['', 'no access token']);
  });

  test('forgets values that are older than its window', async () => {
    let nowMs = 0;
    const meter = createWalletMeter(() => nowMs);
    const connector = meter.measured(answering([exchange({ status: 200 }), exchange({ status: 500 })]));
    await ask(connector);
    nowMs = meterWindowMs / 2;
    await ask(connector);
    nowMs = meterWindowMs + 1;

    expect(meter.read()).toMatchObject({ calls: 1, failures: 1 });
  });

  test('has no latency without answers', () => {
    expect(createWalletMeter(() => 0).read()).toEqual({
      calls: 0,
      failures: 0,
      p50Ms: undefined,
      p99Ms: undefined,
    });
  });

  test('counts the work in progress of each kind, also work that fails', async () => {
    const meter = createWalletMeter(() => 0);
    const breaker: WalletBreaker = {
      allows: () => 'all',
      watch: async (work) => {
        await work();
      },
    };
    const payments = meter.counted('payments', breaker);
    const reversals = meter.counted('reversals', breaker);
    const end = Promise.withResolvers<boolean>();
    const inFlight = () => [meter.inFlight('payments'), meter.inFlight('reversals')];

    const first = payments.watch(() => end.promise);
    const second = payments.watch(() => end.promise);
    const third = reversals.watch(() => Promise.reject(new Error('no')));
    const atOnce = inFlight();
    await expect(third).rejects.toThrow('no');
    const later = inFlight();
    end.resolve(true);
    await Promise.all([first, second]);

    expect([atOnce, later, inFlight()]).toEqual([
      [2, 1],
      [2, 0],
      [0, 0],
    ]);
  });
});
