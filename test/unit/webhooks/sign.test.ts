import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import type { LiveSecrets } from '../../../src/contract/webhook-signature.ts';
import { signedHeaders } from '../../../src/contract/webhook-signature.ts';

const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`;
const current = newSecret();
const next = newSecret();
const eventId = 'evt_01jd4s6w3hfk0a8m2x7v5n9q1r';
const body = Buffer.from('{"id":"evt_01jd4s6w3hfk0a8m2x7v5n9q1r","data":{"reason":"ሦስት መጻሕፍት 📚"}}');

// The library compares the timestamp with its own clock, so these are signed now.
const sign = (secrets: LiveSecrets, at = new Date()) => signedHeaders({ eventId, body, at, secrets });
const verify = (secret: string, headers: Record<string, string>) =>
  new Webhook(secret).verify(body.toString(), headers);

test('the headers say which event it is, when it was sent, and that it is JSON', () => {
  const headers = sign({ current }, new Date('2026-11-06T08:49:37.999Z'));

  expect(headers).toMatchObject({
    'content-type': 'application/json',
    'webhook-id': eventId,
    'webhook-timestamp': '1793954977',
  });
});

describe('the signature of Standard Webhooks', () => {
  test('with one secret is verified by its library', () => {
    expect(verify(current, sign({ current }))).toEqual(JSON.parse(body.toString()));
  });

  test('with two secrets is verified with either one, the current one first', () => {
    const at = new Date();

    const headers = sign({ current, next }, at);

    expect(headers['webhook-signature']!.split(' ')).toEqual(
      [current, next].map((secret) => sign({ current: secret }, at)['webhook-signature']),
    );
    expect(() => verify(current, headers)).not.toThrow();
    expect(() => verify(next, headers)).not.toThrow();
  });
});

describe('the signature in X-SVC-HMAC-Signature', () => {
  test('is the value that openssl computes from the body and the whole text of the secret', () => {
    const printed = execFileSync('openssl', ['dgst', '-sha256', '-hmac', current, '-hex'], { input: body });

    expect(sign({ current })['X-SVC-HMAC-Signature']).toBe(printed.toString().trim().split(' ').at(-1));
  });

  test('uses the current secret only while there are two', () => {
    expect(sign({ current, next })['X-SVC-HMAC-Signature']).toBe(sign({ current })['X-SVC-HMAC-Signature']);
    expect(sign({ current: next })['X-SVC-HMAC-Signature']).not.toBe(
      sign({ current })['X-SVC-HMAC-Signature'],
    );
  });

  test('depends on the body and on nothing that changes between attempts', () => {
    const first = sign({ current }, new Date(0));
    const second = sign({ current }, new Date(86_400_000));

    expect(second['X-SVC-HMAC-Signature']).toBe(first['X-SVC-HMAC-Signature']);
    expect(second['webhook-signature']).not.toBe(first['webhook-signature']);
  });
});
