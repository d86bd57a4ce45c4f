import { describe, expect, test } from '@jest/globals';
import { attemptId, buildPayment, gsmaOfEachTest, requestState, routes, token } from './gsma-subject.ts';
import { answer, json } from './scripted-wallet.ts';

const options = { signal: new AbortController().signal };
const refusedToken = { errorCategory: 'authorisation', errorCode: 'clientAuthorisationError' };

let time = new Date('2026-01-01T08:00:00Z');
const subject = gsmaOfEachTest({}, () => time);

const pass = (seconds: number): void => {
  time = new Date(time.getTime() + seconds * 1000);
};
const recover = () => subject.connector.recover(attemptId, options);
const tokenRequests = () => subject.wallet.requestsTo(routes.token).length;

describe('an access token', () => {
  test('is fetched once for all concurrent callers', async () => {
    await Promise.all(Array.from({ length: 20 }, recover));

    expect(tokenRequests()).toBe(1);
    expect(subject.wallet.requestsTo(routes.responses)).toHaveLength(20);
  });

  test('is reused until shortly before it expires, and then fetched again', async () => {
    const { wallet } = subject;
    wallet.on(
      routes.token,
      json(200, { ...token, expires_in: 3600 }),
      json(200, { ...token, access_token: 'the-second-token' }),
    );
    await recover();

    pass(3569);
    await recover();
    const before = tokenRequests();
    pass(1);
    await recover();

    expect([before, tokenRequests()]).toEqual([1, 2]);
    expect(wallet.requestsTo(routes.responses).at(-1)!.headers.authorization).toBe('Bearer the-second-token');
  });

  test.each([
    ['as text', '100', 74, 75],
    ['short', 8, 5, 6],
    ['unreported', undefined, 269, 270],
  ])('whose lifetime is %s (%s) is used for %i s and no longer', async (_what, lifetime, used, stale) => {
    const { wallet } = subject;
    wallet.on(routes.token, json(200, { ...token, expires_in: lifetime }));
    await recover();

    pass(used);
    await recover();
    const before = tokenRequests();
    pass(stale - used);
    await recover();

    expect([before, tokenRequests()]).toEqual([1, 2]);
  });

  test('without lifetime is used for the request that it was fetched for', async () => {
    const { wallet } = subject;
    wallet.on(routes.token, json(200, { ...token, expires_in: 0 }));

    const results = [await recover(), await recover()];

    expect(results.map(({ result }) => result.kind)).toEqual(['found', 'found']);
    expect(tokenRequests()).toBe(2);
  });

  test.each([429, 503])(
    'that is refused with %i blames no credentials, and the wait that the wallet asks for is kept',
    async (code) => {
      subject.wallet.on(routes.token, json(code, {}, { 'retry-after': '120' }));

      const results = [
        (await recover()).result,
        (await subject.connector.initiate(buildPayment(), options)).result,
      ];

      const detail = `no access token: the wallet answered ${code}`;
      expect(results).toEqual([
        { kind: 'unknown', why: 'not_asked', detail, retryAfterMs: 120_000 },
        { kind: 'not_sent', why: 'no_token', detail, retryAfterMs: 120_000 },
      ]);
    },
  );

  test('that another caller waits for is not lost when one caller aborts', async () => {
    const { wallet, connector } = subject;
    let release = (): void => {};
    wallet.on(routes.token, (reply) => {
      release = () => json(200, token)(reply);
    });
    const controller = new AbortController();
    const arrived = wallet.nextRequest(routes.token);
    const impatient = connector.initiate(buildPayment(), { signal: controller.signal });
    const patient = recover();
    await arrived;

    controller.abort();
    const givenUp = await impatient;
    release();

    expect(givenUp.result).toMatchObject({ kind: 'not_sent', why: 'aborted' });
    expect((await patient).result.kind).toBe('found');
    expect(wallet.requestsTo(routes.initiate)).toEqual([]);
  });
});

describe('without an access token', () => {
  test.each([
    ['refused credentials', json(401, { error: 'invalid_client' })],
    ['a fault of the wallet', json(500, {})],
    ['a web page', answer(200, 'text/html', '<html></html>')],
    ['an answer without a token', json(200, { token_type: 'Bearer' })],
    ['a token that is not a header value', json(200, { ...token, access_token: 'a\r\nX-Evil: 1' })],
    ['a token of an unsupported type', json(200, { ...token, token_type: 'mac' })],
    ['an impossible lifetime', json(200, { ...token, expires_in: -1 })],
    ['an answer that is too large', json(200, { ...token, padding: 'x'.repeat(100_000) })],
  ])('because of %s, no payment is sent, and the caller may try again', async (_what, behaviour) => {
    const { wallet, connector } = subject;
    wallet.on(routes.token, behaviour, json(200, token));

    const first = await connector.initiate(buildPayment(), options);
    const second = await connector.initiate(buildPayment(), options);

    expect(first.result).toMatchObject({ kind: 'not_sent', why: 'no_token' });
    expect(first.exchanges.map(({ purpose }) => purpose)).toEqual(['token']);
    expect(second.result.kind).toBe('accepted');
    expect(wallet.requestsTo(routes.initiate)).toHaveLength(1);
  });
});

describe('an access token that is refused', () => {
  test.each([
    ['in the words of the contract', json(401, refusedToken)],
    ['in other words', json(401, { message: 'expired' })],
    ['by a web page', answer(401, 'text/html', '<html></html>')],
  ])('%s is replaced, and the same request is sent once more', async (_what, refusal) => {
    const { wallet, connector } = subject;
    wallet.on(routes.token, json(200, token), json(200, { ...token, access_token: 'the-second-token' }));
    wallet.on(routes.initiate, refusal, json(202, requestState()));

    const { result, exchanges } = await connector.initiate(buildPayment(), options);

    expect(result.kind).toBe('accepted');
    const [first, second] = wallet.requestsTo(routes.initiate);
    expect(second!.body).toBe(first!.body);
    expect(second!.headers['x-correlationid']).toBe(first!.headers['x-correlationid']);
    expect(second!.headers.authorization).toBe('Bearer the-second-token');
    expect(exchanges.map(({ purpose, status }) => [purpose, status])).toEqual([
      ['token', 200],
      ['initiate', 401],
      ['token', 200],
      ['initiate', 202],
    ]);
  });

  test('because our clock was set back is replaced once and then used as usual', async () => {
    const { wallet, connector } = subject;
    wallet.on(routes.token, json(200, token), json(200, { ...token, access_token: 'the-second-token' }));
    await recover();
    pass(-5 * 3_600);
    wallet.on(routes.initiate, json(401, refusedToken), json(202, requestState()));

    const { result } = await connector.initiate(buildPayment(), options);
    await recover();

    expect(result.kind).toBe('accepted');
    const ids = wallet.requestsTo(routes.initiate).map(({ headers }) => headers['x-correlationid']);
    expect(ids).toEqual([ids[0], ids[0]]);
    expect(tokenRequests()).toBe(2);
  });

  test.each([
    ['twice decides nothing, and there is no third try', json(200, token), 2],
    ['and cannot be replaced leaves the request unknown, because it was sent', json(500, {}), 1],
  ])('%s', async (_what, secondToken, sent) => {
    const { wallet, connector } = subject;
    wallet.on(routes.token, json(200, token), secondToken);
    wallet.on(routes.initiate, json(401, refusedToken));

    const { result } = await connector.initiate(buildPayment(), options);

    expect(result).toMatchObject({ kind: 'unknown', why: 'unauthenticated' });
    expect(wallet.requestsTo(routes.initiate)).toHaveLength(sent);
  });

  test('by many requests at once is replaced once', async () => {
    const { wallet } = subject;
    await recover();
    wallet.on(routes.token, json(200, { ...token, access_token: 'the-second-token' }));
    wallet.on(routes.responses, (reply) => {
      const good = reply.request.headers.authorization === 'Bearer the-second-token';
      (good ? json(200, { link: '/transactions/REF-1' }) : json(401, refusedToken))(reply);
    });

    const results = await Promise.all(Array.from({ length: 8 }, recover));

    expect(results.every(({ result }) => result.kind === 'found')).toBe(true);
    expect(tokenRequests()).toBe(2);
  });
});
