import { expect, test } from '@jest/globals';
import { snapshotConnection } from '../../../src/platform/database/snapshot/connect-snapshot.ts';

test.each(['sslmode=prefer', 'sslmode=allow', 'ssl=true', ''])(
  'a snapshot with "%s" in its URL is read without TLS, as the processes read it',
  (parameters) => {
    const { config } = snapshotConnection({ url: `postgres://a:b@db.example/x?${parameters}` }, 'test');

    expect(config.ssl).toBe(false);
    expect(config.connectionString).not.toContain('ssl');
  },
);

test('a snapshot trusts the usual public authorities if its URL says so, and checks the name', () => {
  const url = 'postgres://a:b@db.example/x?sslmode=verify-full&sslrootcert=system';
  const { config } = snapshotConnection({ url }, 'test');

  expect(config.ssl).toEqual({ host: 'db.example', minVersion: 'TLSv1.2', rejectUnauthorized: true });
  expect(config.connectionString).not.toContain('ssl');
});

test('a snapshot ends when the machine of its server no longer answers', () => {
  const { config } = snapshotConnection({ url: 'postgres://db.example/x' }, 'test');

  expect(config).toMatchObject({ keepAlive: true, keepAliveInitialDelayMillis: 30_000 });
  expect(config.connectionTimeoutMillis).toBeGreaterThan(0);
});
