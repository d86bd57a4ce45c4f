import { Code, ConnectError } from '@connectrpc/connect';
import { afterEach, describe, expect, test } from '@jest/globals';
import { request as httpRequest } from 'node:http';
import { rpcError } from '../../../src/contract/error-reason.ts';
import { refusedKeyHint } from '../../../src/rest-facade/key-hint.ts';
import { shared } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { beginVerify, post, send, startFacadeOverRpc } from './facade-over-rpc.ts';
import type { FacadeOverRpc } from './facade-over-rpc.ts';

let ofOneTest: FacadeOverRpc | undefined;
afterEach(async () => {
  await ofOneTest?.close();
  ofOneTest = undefined;
});

type Overrides = Parameters<typeof startFacadeOverRpc>[1];
type Answer = (apiKey: string, deadlineMs: number | undefined) => { merchantId: string; apiKeyId: string };

/** The answers of core about keys, and the keys that it was asked about in the current test. */
let core: { readonly answer: Answer; readonly asked: string[] };
let clockMs = 1_000;
/** Lets time pass for the facade that all tests share. */
const pass = (ms: number): void => void (clockMs += ms);

/** A core that only knows keys. Every order is unknown, so 404 means that the key was accepted. For one merchant it is too busy. */
const start = (overrides: Overrides): Promise<FacadeOverRpc> =>
  startFacadeOverRpc(
    {
      apiKeys: {
        authenticateApiKey: ({ apiKey }, context) => {
          core.asked.push(apiKey);
          return core.answer(apiKey, context.timeoutMs());
        },
      },
      orders: {
        getOrder: ({ merchantId }) => {
          throw merchantId === busy.merchantId
            ? rpcError('OVERLOADED', 'too many requests are waiting')
            : rpcError('ORDER_NOT_FOUND', 'unknown');
        },
      },
    },
    overrides,
  );
const usual = shared(() => start({ nowMs: () => clockMs }));

/** The facade that all tests share, without its cached keys, or one of the test with these settings. */
async function facadeKnowing(answer: Answer, overrides?: Overrides) {
  const asked: string[] = [];
  core = { answer, asked };
  pass(3_600_000);
  const facade = overrides === undefined ? usual : (ofOneTest = await start(overrides));
  const verify = async (apiKey: string): Promise<number> =>
    (await post(`${facade.url}/api/v1/verify`, { order_number: 'INV-1' }, { apiKey })).status;
  return { facade, url: facade.url, asked, verify };
}

const good = { merchantId: 'mer_1', apiKeyId: 'key_1' };
const busy = { merchantId: 'mer_9', apiKeyId: 'key_9' };
const refuse = (): never => {
  throw rpcError('INVALID_API_KEY', 'no such key');
};

describe("caching core's answer about a key", () => {
  test.each([
    ['valid', 404, 3, () => good],
    ['refused', 401, 1, () => refuse()],
  ])('a %s key gets %d, and is looked up again after %d s', async (_which, status, seconds, answer) => {
    const { asked, verify } = await facadeKnowing(answer);
    const ask = async (afterMs: number) => {
      pass(afterMs);
      expect(await verify('k')).toBe(status);
      return asked.length;
    };
    expect([await ask(0), await ask(1_000 * seconds - 100), await ask(101)]).toEqual([1, 1, 2]);
  });

  test('a key that is revoked while the body arrives bit by bit is refused', async () => {
    let answer: Answer = () => good;
    const { facade, asked, verify } = await facadeKnowing((...question) => answer(...question));
    const finish = beginVerify(facade.url, 'INV-1', 'k');
    await waitUntil('the key is accepted', () => asked.length === 1);

    answer = refuse;
    pass(3_001);
    expect(await verify('k')).toBe(401);

    expect(await finish()).toMatch(/^HTTP\/1\.1 401 /);
  });

  test('the duration of the call counts: an answer that took 2 of the 3 seconds is valid for 1 more', async () => {
    const deadlines: unknown[] = [];
    const { asked, verify } = await facadeKnowing((_apiKey, deadlineMs) => {
      deadlines.push(Math.ceil((deadlineMs ?? 0) / 3_000));
      pass(2_000);
      return good;
    });
    await verify('k');
    pass(1_001);
    await verify('k');
    expect(asked).toHaveLength(2);
    // An answer that takes longer is not awaited.
    expect(deadlines).toEqual([1, 1]);
  });

  test('concurrent requests with one key share one call', async () => {
    const { asked, verify } = await facadeKnowing(() => good);
    const statuses = await Promise.all(Array.from({ length: 40 }, () => verify('k')));
    expect(new Set(statuses)).toEqual(new Set([404]));
    expect(asked).toHaveLength(1);
  });

  test('each key is cached separately', async () => {
    const { asked, verify } = await facadeKnowing((apiKey) => (apiKey === 'good' ? good : refuse()));
    expect(await verify('good')).toBe(404);
    expect(await verify('bad')).toBe(401);
    expect(await verify('good')).toBe(404);
    expect(asked).toEqual(['good', 'bad']);
  });

  test.each([
    ['core cannot be reached', new ConnectError('gone', Code.Unavailable)],
    ['the deadline passed', rpcError('DEADLINE_EXCEEDED', 'slow')],
    ["the facade's own token was refused", rpcError('INVALID_SERVICE_TOKEN', 'who are you')],
    ['the facade has the wrong role', rpcError('ROLE_NOT_ALLOWED', 'not you')],
  ])('%s: the answer is 500, and core is asked again at once', async (_name, error) => {
    let answers = 0;
    const { asked, verify } = await facadeKnowing(() => {
      if (answers++ === 0) throw error;
      return good;
    });
    expect(await verify('k')).toBe(500);
    expect(await verify('k')).toBe(404);
    expect(asked).toHaveLength(2);
  });
});

describe('core is not called for', () => {
  const started = () => facadeKnowing(() => good);

  test.each([
    ['a request without a key', {}],
    ['an empty key', { apiKey: '' }],
    ['a key that is too long', { apiKey: 'k'.repeat(257) }],
  ])('%s', async (_what, headers) => {
    const { url, asked } = await started();
    expect((await send(`${url}/api/v1/verify`, { method: 'POST', headers })).status).toBe(401);
    expect(asked).toEqual([]);
  });

  test('two keys, even when they are the same', async () => {
    const { url, asked } = await started();
    const status = await new Promise((resolve, reject) => {
      const options = { method: 'POST', headers: { apiKey: ['k', 'k'] } };
      httpRequest(`${url}/api/v1/verify`, options, (response) => {
        response.resume().once('end', () => resolve(response.statusCode));
      })
        .once('error', reject)
        .end();
    });
    expect(status).toBe(401);
    expect(asked).toEqual([]);
  });
});

test('spaces around a key do not count, because HTTP strips them', async () => {
  const { asked, verify } = await facadeKnowing(() => good);
  expect(await verify(' k ')).toBe(404);
  expect(asked).toEqual(['k']);
});

test('a key with characters beyond ASCII is refused like any other wrong key', async () => {
  const { verify } = await facadeKnowing(refuse);
  expect(await verify('svc_test_\u00e9')).toBe(401);
});

describe('a 401 names the probable mistake, seen from the request only', () => {
  const random = `${'A'.repeat(43)}0000000`;
  const live = `svc_live_${random}`;
  const test_ = `svc_test_${random}`;
  const wrongForm =
    'does not have the form of an API key: svc_test_ or svc_live_ and 50 characters; copy all of it';
  test.each<[string, 'production' | 'sandbox', Record<string, string>, string]>([
    ['no header', 'sandbox', {}, 'is required: send your API key in the header apiKey'],
    [
      'a Bearer token',
      'sandbox',
      { authorization: `Bearer ${test_}` },
      'is required: send your API key in the header apiKey, not in Authorization',
    ],
    [
      'a word before the key',
      'sandbox',
      { apiKey: `Bearer ${test_}` },
      'must be the API key alone, without a word before it',
    ],
    [
      'a test key in production',
      'production',
      { apiKey: test_ },
      'is a test key, which works only in the sandbox; use a live key here, or the address of the sandbox',
    ],
    [
      'a live key in the sandbox',
      'sandbox',
      { apiKey: live },
      'is a live key, which works only in production; use a test key here, or the address of production',
    ],
    ['part of a key', 'sandbox', { apiKey: test_.slice(0, 30) }, wrongForm],
    ['a key of the environment', 'sandbox', { apiKey: test_ }, refusedKeyHint],
    ['a live key in production', 'production', { apiKey: live }, refusedKeyHint],
  ])('%s', async (_name, environment, headers, issue) => {
    const { facade: started } = await facadeKnowing(
      () => {
        throw rpcError('INVALID_API_KEY', 'no');
      },
      environment === 'sandbox' ? undefined : { environment },
    );
    const answer = await send(`${started.url}/api/v1/verify`, { method: 'POST', headers });
    expect(answer.json).toEqual({
      code: 401,
      message: 'Unauthorized',
      details: [{ field: 'apiKey', issue }],
    });
  });
});

describe('limits', () => {
  const none = { perKeyPerSecond: 0, failedKeysPerMinute: 1_000 };

  test('too many failed keys from one address get 429, and valid keys continue', async () => {
    const { facade, url, verify } = await facadeKnowing((apiKey) => (apiKey === 'good' ? good : refuse()), {
      rateLimits: { ...none, failedKeysPerMinute: 3 },
    });
    for (const key of ['bad1', 'bad2', 'bad3']) expect(await verify(key)).toBe(401);
    const fourth = await post(`${url}/api/v1/verify`, {}, { apiKey: 'bad4' });

    expect(fourth.status).toBe(429);
    expect(Number(fourth.headers.get('retry-after'))).toBeGreaterThan(1);
    expect(Number(fourth.headers.get('retry-after'))).toBeLessThanOrEqual(60);
    expect(await verify('good')).toBe(404);
    expect(facade.log.filter((line) => line['reason'] === 'TOO_MANY_FAILED_KEYS')).toHaveLength(1);
  });

  test('core is asked about few unknown keys from a site above its limit, and keys that worked before continue', async () => {
    const { asked, verify } = await facadeKnowing((apiKey) => (apiKey === 'good' ? good : refuse()), {
      rateLimits: { ...none, failedKeysPerMinute: 3 },
      nowMs: () => clockMs,
    });
    expect(await verify('good')).toBe(404);
    pass(3_000_000);
    for (const key of ['bad1', 'bad2', 'bad3', 'bad4']) await verify(key);
    const statuses = await Promise.all(
      Array.from({ length: 400 }, (_each, number) => verify(`bad-${number}`)),
    );

    expect(new Set(statuses)).toEqual(new Set([429]));
    // Ten a second.
    expect(asked.length).toBeLessThan(300);
    expect(await verify('good')).toBe(404);
  });

  test.each([
    ['clients are counted by the address that a trusted balancer names', ['127.0.0.0/8'], [401, 401, 429]],
    ['without a trusted balancer, no client can claim another address', [], [401, 429, 429]],
  ])('%s', async (_name, trustedProxies, expected) => {
    const { url } = await facadeKnowing(refuse, {
      rateLimits: { ...none, failedKeysPerMinute: 1 },
      trustedProxies,
    });
    const statuses: number[] = [];
    for (const client of ['203.0.113.1', '203.0.113.2:4711', '203.0.113.2:4712']) {
      const headers = { apiKey: `bad-${statuses.length}`, 'x-forwarded-for': client };
      statuses.push((await post(`${url}/api/v1/verify`, {}, headers)).status);
    }

    expect(statuses).toEqual(expected);
  });

  test('a request without a key does not count as a failed key', async () => {
    const { url } = await facadeKnowing(refuse, { rateLimits: { ...none, failedKeysPerMinute: 1 } });
    for (let i = 0; i < 4; i++)
      expect((await send(`${url}/api/v1/verify`, { method: 'POST' })).status).toBe(401);
  });
});

test('requests that cost nothing to send again share log lines', async () => {
  const { facade, verify } = await facadeKnowing((apiKey) => {
    if (apiKey === 'suspended')
      throw rpcError('MERCHANT_SUSPENDED', 'no', {
        metadata: { merchant_id: 'mer_2', api_key_id: 'key_2' },
      });
    if (apiKey === 'busy') return busy;
    return apiKey === 'good' ? good : refuse();
  }, {});
  for (let number = 0; number < 25; number += 1) {
    await verify('');
    await verify('bad');
    await verify('suspended');
    await verify('busy');
    await verify('good');
    await send(`${facade.url}/nowhere`);
  }
  await facade.app.close();

  const written = facade.log.filter(({ msg }) => msg === 'request');
  const linesOf = (facts: object): number =>
    written.filter((line) => Object.entries(facts).every(([name, value]) => line[name] === value)).length;
  expect({
    missing: linesOf({ reason: 'NO_API_KEY' }),
    unknown: linesOf({ reason: 'INVALID_API_KEY' }),
    suspended: linesOf({ reason: 'MERCHANT_SUSPENDED' }),
    overloaded: linesOf({ reason: 'OVERLOADED' }),
    nowhere: linesOf({ method: 'GET' }),
    accepted: linesOf({ reason: 'ORDER_NOT_FOUND' }),
  }).toEqual({ missing: 20, unknown: 20, suspended: 20, overloaded: 20, nowhere: 20, accepted: 25 });
});
