import { execFileSync } from 'node:child_process';
import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  readPrivateKey,
  readPublicKey,
  signMessage,
  textToSign,
  verifyMessage,
} from '../../../src/wallets/telebirr/signature.ts';
import { newRsaKeys } from '../../support/rsa-keys.ts';

const keys = newRsaKeys();
const bare = (pem: string): string => pem.replace(/-----[^-]+-----|\s/g, '');

const message = {
  timestamp: '1735689600',
  nonce_str: 'N',
  method: 'payment.queryorder',
  version: '1.0',
  biz_content: { appid: 'A', merch_code: '000000', merch_order_id: 'X1' },
  sign_type: 'SHA256WithRSA',
};
const text =
  'appid=A&merch_code=000000&merch_order_id=X1&method=payment.queryorder&nonce_str=N&timestamp=1735689600&version=1.0';

describe('the text that is signed', () => {
  test('has the fields of both levels, sorted, without the signature', () => {
    expect(textToSign({ ...message, sign: 'S' })).toBe(text);
  });

  test.each([
    ['empty and absent values', { b: '', a: '1', c: undefined, biz_content: null }, 'a=1'],
    ['objects and lists', { a: '1', b: { c: '2' }, d: [3], biz_content: [4] }, 'a=1'],
    [
      'fields that are never signed',
      { a: '1', refund_info: 'x', openType: 'x', raw_request: 'x', header: 'x' },
      'a=1',
    ],
    [
      'such fields in biz_content',
      { a: '1', biz_content: { wallet_reference_data: 'x', b: '2' } },
      'a=1&b=2',
    ],
  ])('leaves out %s', (_what, fields, expected) => {
    expect(textToSign(fields)).toBe(expected);
  });

  test('is sorted by bytes and is not encoded', () => {
    expect(textToSign({ trans_id: 'z', trade_type: 'y', Title: 'Täglich & mehr=', a1: 3, a: true })).toBe(
      'Title=Täglich & mehr=&a=true&a1=3&trade_type=y&trans_id=z',
    );
  });
});

describe('a signature', () => {
  let folder: string;
  const file = (name: string): string => join(folder, name);
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'telebirr-signature-'));
    writeFileSync(file('public.pem'), keys.publicKey);
    writeFileSync(file('private.pem'), keys.privateKey);
    writeFileSync(file('text'), text);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const openssl = (...args: string[]): Buffer => execFileSync('openssl', ['dgst', '-sha256', ...args]);
  const padding = {
    pss: ['-sigopt', 'rsa_padding_mode:pss', '-sigopt', 'rsa_pss_saltlen:32'],
    pkcs1: ['-sigopt', 'rsa_padding_mode:pkcs1'],
  };

  test.each(['pss', 'pkcs1'] as const)(
    'with %s is valid for OpenSSL, and OpenSSL’s is valid for us',
    (name) => {
      const ours = signMessage(message, readPrivateKey(bare(keys.privateKey)), name);
      writeFileSync(file('ours'), Buffer.from(ours, 'base64'));

      const verdict = openssl(
        ...padding[name],
        '-verify',
        file('public.pem'),
        '-signature',
        file('ours'),
        file('text'),
      );
      const theirs = openssl(...padding[name], '-sign', file('private.pem'), file('text')).toString('base64');

      expect(verdict.toString()).toContain('Verified OK');
      expect(verifyMessage({ ...message, sign: theirs }, readPublicKey(bare(keys.publicKey)))).toBe(name);
    },
  );

  test.each([
    ['of another message', { ...message, nonce_str: 'M' }],
    ['of another amount', { ...message, biz_content: { ...message.biz_content, total_amount: '1' } }],
    ['that is missing', { ...message, sign: undefined }],
    ['that is empty', { ...message, sign: '' }],
    ['of other bytes', { ...message, sign: 'AAAA' }],
  ])('%s is invalid', (_what, changed) => {
    const sign = signMessage(message, readPrivateKey(keys.privateKey), 'pss');

    expect(verifyMessage({ sign, ...changed }, readPublicKey(keys.publicKey))).toBeUndefined();
  });
});

describe('a private key', () => {
  test.each(['pkcs8', 'pkcs1'] as const)('is read from PEM of %s', (type) => {
    const pem = createPrivateKey(keys.privateKey).export({ type, format: 'pem' }).toString();

    expect(readPrivateKey(`Bag Attributes\n${pem}`).asymmetricKeyType).toBe('rsa');
  });

  // OpenSSL never sees it: the longest DSA key takes it ten seconds, while no wallet of the process is served.
  test.each(['PRIVATE KEY', 'RSA PRIVATE KEY'])('of DSA is not read as a %s', (label) => {
    const { privateKey } = generateKeyPairSync('dsa', { modulusLength: 1024, divisorLength: 160 });
    const dsa = bare(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());

    expect(() => readPrivateKey(`-----BEGIN ${label}-----\n${dsa}\n-----END ${label}-----`)).toThrow(
      'not a private RSA key',
    );
  });
});
