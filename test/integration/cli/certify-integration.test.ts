import { once } from 'node:events';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { certificationChecks, isCertified } from '../../../src/contract/certification-checks.ts';
import { certifyIntegration } from '../../../src/cli/certify/certify-integration.ts';
import type { CheckReport } from '../../../src/cli/certify/check.ts';
import { randomSecret } from '../../../src/cli/certify/receiver-answers.ts';
import { startGatewayProxy } from '../../../src/cli/certify/gateway-proxy.ts';
import { refusingPort, startReceiver } from '../webhooks/receivers.ts';
import { sharedStack } from '../../support/shared-stack.ts';
import type { TestMerchant } from '../../support/stack.ts';
import { brokenShops, goodWays, returnTo, startShop } from './merchant-shops.ts';

const stack = sharedStack();
const secret = randomSecret();
const limits = {
  arrivalMs: 60_000,
  repeatMs: 6_000,
  slowMs: 7_000,
  retryAfterSeconds: 1,
  // A broken shop on a busy machine sends its repeat late.
  quietMs: 3_000,
  fulfilMs: 1_000,
};

/** Certifies a shop. Only `order-url` places orders, and the shop's gateway is the proxy. */
async function certify(
  merchant: TestMerchant,
  ways: Partial<typeof goodWays> = {},
  { receiver, hasState = true }: { readonly receiver?: string; readonly hasState?: boolean } = {},
): Promise<readonly CheckReport[]> {
  const shop = await startShop(secret, merchant.testKey, { ...goodWays, ...ways });
  try {
    return await certifyIntegration({
      gateway: new URL(stack.facades[0]!.sandbox),
      proxyPort: 0,
      webhookUrl: new URL(`${receiver ?? shop.origin}/hook`),
      orderUrl: new URL(`${shop.origin}/order`),
      stateUrl: hasState ? new URL(`${shop.origin}/state`) : undefined,
      secret,
      limits,
      now: () => new Date(),
      stop: new AbortController().signal,
      onProxy: shop.connect,
      ask: () => {},
      onCheck: () => {},
    });
  } finally {
    await shop.close();
  }
}

describe('gatehouse certify, at a shop in front of a running sandbox', () => {
  const faultsOf = new Map<string, readonly CheckReport[]>();
  let good: readonly CheckReport[];
  let silent: readonly CheckReport[];
  let deaf: readonly CheckReport[];
  let abroad: readonly CheckReport[];
  let astray: readonly CheckReport[];
  let live: readonly CheckReport[];

  // All at once, because each of them mostly waits.
  beforeAll(async () => {
    const merchant = await stack.createMerchant();
    const down = `http://127.0.0.1:${refusingPort}`;
    const broken = Object.entries(brokenShops).map(async ([name, ways]) =>
      faultsOf.set(name, await certify(merchant, ways)),
    );
    [good, silent, deaf, abroad, astray, live] = await Promise.all([
      certify(merchant),
      certify(merchant, {}, { hasState: false }),
      certify(merchant, {}, { receiver: down }),
      certify(merchant, returnTo('http://127.0.0.1:2/thanks')),
      certify(merchant, returnTo(`${down}/thanks`), { receiver: down }),
      certify({ ...merchant, testKey: merchant.liveKey }),
      ...broken,
    ]);
  });

  test('a correct shop passes every check', () => {
    expect(good.map(({ name, result, seen }) => [name, result, seen])).toEqual(
      certificationChecks.integration.map((name) => [name, 'passed', expect.any(String)]),
    );
  });

  test.each(Object.keys(brokenShops))('the fault %s is named, and no other', (name) => {
    const checks = faultsOf.get(name) ?? [];
    const faults = checks.filter(({ result }) => result === 'failed');

    expect(faults.map((fault) => [fault.name, fault.seen])).toEqual([[name, expect.any(String)]]);
    expect(faults[0]?.fix).toMatch(/\.$/);
    expect(isCertified('integration', checks)).toBe(false);
  });

  test('each check fails for at least one shop of the table', () => {
    expect(Object.keys(brokenShops)).toEqual(certificationChecks.integration);
  });

  test.each([
    ['does not report its deliveries is tested by its requests only', () => silent, 7, '--state-url'],
    ['has a receiver that is down is not tested by webhooks', () => deaf, 8, 'nothing listens on'],
  ])('a shop that %s, and not certified', (_what, resultsOf, tested, seen) => {
    const results = resultsOf();
    const untested = results.filter(({ result }) => result === 'not_tested');

    expect(results.filter(({ result }) => result === 'failed')).toEqual([]);
    expect(untested.map(({ name }) => name)).toEqual(certificationChecks.integration.slice(tested));
    expect(untested[0]?.seen).toContain(seen);
    expect(isCertified('integration', results)).toBe(false);
  });

  test('a return_url on another host is not visited, which prevents no certification', () => {
    expect(abroad.filter(({ result }) => result !== 'passed')).toEqual([
      expect.objectContaining({ name: 'return_proves_nothing', result: 'not_tested' }),
    ]);
    expect(isCertified('integration', abroad)).toBe(true);
  });

  test('a return_url that does not answer proves nothing about the shop', () => {
    expect(astray.find(({ name }) => name === 'return_proves_nothing')).toMatchObject({
      result: 'not_tested',
      seen: expect.stringContaining('the page of the return_url failed: connect ECONNREFUSED'),
    });
  });

  test('a live key never reaches the gateway', () => {
    expect(live[0]).toMatchObject({ name: 'places_order', result: 'failed' });
    expect(live[0]?.seen).toContain(
      'answered 401 {"code":401,"message":"a certification forwards no live key',
    );
  });
});

test('the proxy forwards to the sandbox alone, whatever host a request names', async () => {
  const elsewhere = await startReceiver();
  const proxy = await startGatewayProxy({
    gateway: new URL(`http://127.0.0.1:${refusingPort}`),
    port: 0,
    nowMs: () => 0,
  });
  const { hostname, port } = new URL(proxy.origin);
  const named = [`${elsewhere.origin}/api/v1/verify`, `//127.0.0.1:${elsewhere.port}/api/v1/verify`];

  const statuses = await Promise.all(
    named.map(async (path) => {
      const sent = request({ hostname, port, path, method: 'POST' }).end('{}');
      const [answer] = (await once(sent, 'response')) as [IncomingMessage];
      answer.resume();
      return answer.statusCode;
    }),
  );
  await proxy.close();
  await elsewhere.close();

  expect(statuses).toEqual([500, 500]);
  expect(elsewhere.webhooks).toEqual([]);
});
