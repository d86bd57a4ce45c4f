import { afterEach, describe, expect, test } from '@jest/globals';
import { openForwarder } from '../../../src/cli/forward-webhook.ts';
import type { Forwarded } from '../../../src/cli/forward-webhook.ts';
import {
  answer,
  byteByByte,
  endless,
  raw,
  reset,
  silence,
  silenceAfterHeaders,
  startReceiver,
} from '../webhooks/receivers.ts';
import type { Behaviour, Receiver } from '../webhooks/receivers.ts';

const webhook = {
  body: Buffer.from('{"id": "evt_1",\n "reason":"ቡና"}'),
  headers: { 'content-type': 'application/json', 'webhook-id': 'evt_1', 'X-SVC-HMAC-Signature': 'ab12' },
};

const receivers: Receiver[] = [];

afterEach(async () => {
  for (const receiver of receivers.splice(0)) await receiver.close();
});

/** The result of one webhook at a receiver with this behaviour. */
async function forwardTo(
  behaviour: Behaviour,
  totalMs = 10_000,
): Promise<Forwarded & { receiver: Receiver }> {
  const receiver = await startReceiver(behaviour);
  receivers.push(receiver);
  const url = new URL(`${receiver.origin}/hook?a=1`);
  return { ...(await forwardOnce(url, totalMs)), receiver };
}

async function forwardOnce(url: URL, totalMs = 10_000): Promise<Forwarded> {
  const forwarder = openForwarder({ url, totalMs, nowMs: () => performance.now() });
  try {
    return await forwarder.forward(webhook, new AbortController().signal);
  } finally {
    await forwarder.close();
  }
}

test('the receiver gets the exact bytes and headers, and a User-Agent that names the sender', async () => {
  const { status, answer: said, problem, receiver } = await forwardTo(answer(200, {}, 'thanks'));

  expect({ status, said, problem }).toEqual({ status: 200, said: 'thanks', problem: '' });
  const [{ method, target, headers, body } = { method: '', target: '', headers: {}, body: Buffer.alloc(0) }] =
    receiver.webhooks;
  expect({ method, target }).toEqual({ method: 'POST', target: '/hook?a=1' });
  expect(body.equals(webhook.body)).toBe(true);
  expect(headers).toEqual({
    'content-type': 'application/json',
    'webhook-id': 'evt_1',
    'x-svc-hmac-signature': 'ab12',
    'user-agent': 'Gatehouse-Webhooks (gatehouse listen)',
    'content-length': String(webhook.body.length),
    host: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
    connection: 'close',
  });
});

test('a redirect counts as an answer, and is not followed', async () => {
  const { status, receiver } = await forwardTo(answer(302, { location: '/elsewhere' }));

  expect(status).toBe(302);
  expect(receiver.webhooks).toHaveLength(1);
});

test('only the beginning of an endless answer is read', async () => {
  const { status, answer: said } = await forwardTo(endless());

  expect(status).toBe(200);
  expect(said.length).toBeLessThanOrEqual(1_000);
});

describe('without a complete answer, the reason is reported for', () => {
  test.each<[string, Behaviour, RegExp]>([
    [
      'a connection that breaks',
      reset(),
      /^127\.0\.0\.1:\d+ closed the connection before its answer was complete$/,
    ],
    [
      'an answer that is not HTTP',
      raw('220 smtp.example ready\r\n'),
      /^the answer of 127\.0\.0\.1:\d+ is not HTTP$/,
    ],
  ])('%s', async (_, behaviour, words) => {
    const { status, problem } = await forwardTo(behaviour);

    expect(status).toBe(0);
    expect(problem).toMatch(words);
  });

  test.each<[string, Behaviour]>([
    ['no answer', silence],
    ['an answer without a body', silenceAfterHeaders()],
    ['an answer of two kilobytes without an end', ({ response }) => void response.write('x'.repeat(2_000))],
    ['an answer a byte at a time', byteByByte],
  ])('%s within the time limit', async (_, behaviour) => {
    const { status, problem } = await forwardTo(behaviour, 200);

    expect({ status, problem }).toEqual({ status: 0, problem: 'no complete answer within 0.2 s' });
  });

  test('an unknown host', async () => {
    const { problem } = await forwardOnce(new URL('http://nowhere.invalid:3000/'));

    expect(problem).toBe('the host nowhere.invalid does not exist');
  });

  test('an interruption', async () => {
    const receiver = await startReceiver(silence);
    receivers.push(receiver);
    const stop = new AbortController();
    const forwarder = openForwarder({ url: new URL(receiver.origin), totalMs: 10_000, nowMs: () => 0 });

    const forwarding = forwarder.forward(webhook, stop.signal);
    stop.abort();

    expect((await forwarding).problem).toBe('interrupted before the answer');
    await forwarder.close();
  });
});
