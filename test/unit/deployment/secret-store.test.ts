import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { readCoreSettings } from '../../../src/core/settings.ts';
import {
  completeSecrets,
  filesOfProcesses,
  requireKeyOfSecrets,
  requireSameMasterKey,
} from '../../../src/main/deployment/secret-store.ts';
import { roles } from '../../../src/contract/roles.ts';
import { SettingsError } from '../../../src/platform/settings/read-settings.ts';

const servers = {
  database: { address: 'postgres:5432', hasTls: false },
  nats: { address: 'nats:4222', hasTls: false },
};

describe('the secrets of a deployment', () => {
  test('are all different, stay the same at the next start, and are completed when a newer version needs more', () => {
    const first = completeSecrets({}, {}, randomBytes);
    const values = Object.values(first);
    expect(new Set(values).size).toBe(values.length);
    for (const value of values) expect(value).toMatch(/^n?[0-9a-f]{64}$/);

    expect(completeSecrets(first, {}, randomBytes)).toEqual(first);
    const { WRITER_TOKEN: _added, ...older } = first;
    const completed = completeSecrets(older, {}, randomBytes);
    expect(completed).toMatchObject(older);
    expect(Object.keys(completed)).toEqual(Object.keys(first));
  });

  test('are those of .env where it sets them, so that an older deployment continues', () => {
    const given = {
      GATEHOUSE_MASTER_KEY: 'ab'.repeat(32),
      POSTGRES_PASSWORD: 'chosen-by-hand',
      FACADE_TOKEN: '',
    };
    const kept = { FACADE_TOKEN: 'f'.repeat(64) };
    expect(completeSecrets(kept, given, randomBytes)).toMatchObject({
      ...{ GATEHOUSE_MASTER_KEY: given.GATEHOUSE_MASTER_KEY, POSTGRES_PASSWORD: 'chosen-by-hand' },
      FACADE_TOKEN: kept.FACADE_TOKEN,
    });
  });

  test('cannot differ from those of an earlier start, because the replacement of one of the two would have no effect', () => {
    const [replaced, leaked, same] = ['replaced', 'leaked', 'same'].map((word) => word.padEnd(24, '-'));
    const kept = { FACADE_TOKEN: replaced ?? '', READER_TOKEN: same ?? '' };
    const make = () => completeSecrets(kept, { FACADE_TOKEN: leaked, READER_TOKEN: same }, randomBytes);
    expect(make).toThrow(SettingsError);
    expect(make).toThrow(/than the environment \(\.env\) for FACADE_TOKEN\. Remove it from \.env/);
  });

  test('contain the replaced key of signing secrets, and never leave out the one that encrypted them', () => {
    const kept = { WEBHOOK_SECRET_KEYS: 'second:22,first:11' };
    const secrets = { ...kept, ...completeSecrets(kept, {}, randomBytes) };
    const { GATEHOUSE_WEBHOOK_SECRET_KEYS: next } = filesOfProcesses(secrets, servers)['webhooks'] ?? {};
    expect(next).toBe('second:22,first:11');
    for (const current of [undefined, 'first:11', 'second:22', ' first:11 , second:22'])
      expect(() => requireKeyOfSecrets('file', current, next)).not.toThrow();
    expect(() => requireKeyOfSecrets('file', 'third:33,second:22', next)).toThrow(/as WEBHOOK_SECRET_KEYS/);
  });

  test('give each role a token of its own', () => {
    const kept = { READER_TOKEN: 'x'.repeat(24), WRITER_TOKEN: 'x'.repeat(24) };
    expect(() => completeSecrets(kept, {}, randomBytes)).toThrow(
      /^(READER|WRITER)_TOKEN and (READER|WRITER)_TOKEN are the same/,
    );
  });

  test.each(['short', 'with spaces in it', 'p@ssword/of:a,url', 'x'.repeat(257)])(
    'cannot be "%s", which a URL or a list would cut',
    (text) => {
      const make = () => completeSecrets({}, { POSTGRES_PASSWORD: text }, randomBytes);
      expect(make).toThrow(SettingsError);
      expect(make).toThrow(/^POSTGRES_PASSWORD must be 8 to 256 letters, digits .* openssl rand -hex 32$/);
      expect(make).not.toThrow(text);
    },
  );

  test.each([
    ['POSTGRES_PASSWORD', 'p@ssword/of:a,url', /^must be 8 to 256 letters, digits and \. _ ~ -; make/],
    ['FACADE_TOKEN', 'too-short-for-core', /^must be 24 to 256 letters/],
    ['FACADE_TOKEN', `${'x'.repeat(24)},operator:y`, /^must be 24 to 256 letters/],
    ['NATS_CORE_PASSWORD', `1e5${'a'.repeat(61)}`, /begin with a letter; make one with: echo "n\$\(openssl/],
    ['GATEHOUSE_WALLET_CALLBACK_KEY', 'a'.repeat(63), /^must be 64 hexadecimal digits; make/],
  ])('%s in secrets.json cannot be "%s", which a process could not read', (name, text, rule) => {
    const make = () => completeSecrets({ [name]: text }, {}, randomBytes);
    expect(make).toThrow(SettingsError);
    expect(make).toThrow(new RegExp(`^${name} in secrets\\.json .*${rule.source.replace('^', '')}`));
    expect(make).not.toThrow(text);
  });

  test('have the master key of the processes, and never replace it', () => {
    for (const current of [undefined, 'aa'])
      expect(() => requireSameMasterKey('file', current, 'aa')).not.toThrow();
    expect(() => requireSameMasterKey('file', 'bb', 'aa')).toThrow(/as GATEHOUSE_MASTER_KEY/);
  });

  test('authenticate every process, and no other caller', () => {
    const secrets = completeSecrets({}, {}, randomBytes);
    const files = filesOfProcesses(secrets, servers);
    const { GATEHOUSE_SERVICE_TOKENS: accepted } = readCoreSettings(files['core'] ?? {});
    expect(accepted.map(({ role }) => role)).toEqual(roles);
    for (const [name, role] of [
      ...(['checkout', 'wallets', 'webhooks', 'dashboard'] as const).map((each) => [each, each] as const),
      ['rest-facade', 'facade'],
      ['core', 'operator'],
    ] as const) {
      const token = files[name]?.['GATEHOUSE_SERVICE_TOKEN'];
      expect(files['core']?.['GATEHOUSE_SERVICE_TOKENS']?.split(',')).toContain(`${role}:${token}`);
    }
    expect(files['webhooks']?.['GATEHOUSE_SERVICE_TOKENS']).not.toContain(secrets['CHECKOUT_TOKEN']);
  });

  test('are part of the URLs of database and broker, with TLS where the servers have it', () => {
    const secrets = completeSecrets({}, {}, randomBytes);
    const urlsOf = (hasTls: boolean) => {
      const { database, nats } = servers;
      const files = filesOfProcesses(secrets, {
        database: { ...database, hasTls },
        nats: { ...nats, hasTls },
      });
      return ['GATEHOUSE_DATABASE_URL', 'GATEHOUSE_NATS_URL'].map((name) => {
        const { protocol, host, search } = new URL(files['webhooks']?.[name] ?? '');
        return `${protocol}//${host}${search}`;
      });
    };
    expect(urlsOf(false)).toEqual(['postgres://postgres:5432', 'nats://nats:4222']);
    expect(urlsOf(true)).toEqual(['postgres://postgres:5432?sslmode=verify-full', 'tls://nats:4222']);
  });
});
