import type { Client } from '@connectrpc/connect';
import type { DescService } from '@bufbuild/protobuf';
import { afterAll, afterEach, beforeAll } from '@jest/globals';
import pg from 'pg';
import type { Role } from '../../src/contract/roles.ts';
import { openDatabase } from '../../src/core/database/database.ts';
import type { Database } from '../../src/core/database/database.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { startStack } from './stack.ts';
import type { Stack, StackOptions, TestMerchant } from './stack.ts';
import { connectToDatabase } from './database-connections.ts';
import { createTestDatabase } from './test-database.ts';
import type { TestDatabase } from './test-database.ts';

const closers: (() => unknown)[] = [];

/** An object whose members are those of the object that `find` returns at each use. */
export function standIn<T extends object>(find: () => T): T {
  return new Proxy({} as T, {
    get: (_, member) => {
      const found = find();
      const value: unknown = Reflect.get(found, member);
      return typeof value === 'function' ? (value.bind(found) as unknown) : value;
    },
  });
}

type Closable = { readonly close: () => unknown } | { readonly stop: () => unknown };

const closeOrStop = (opened: Closable): unknown => ('close' in opened ? opened.close() : opened.stop());

/**
 * Opens one thing for all tests of a file, and closes it after them. What was opened last is closed first. Tests and
 * later `beforeAll` hooks can use it; earlier use throws.
 */
export function shared<T extends Closable>(open: () => Promise<T>): T;
export function shared<T extends object>(open: () => Promise<T>, close: (opened: T) => unknown): T;
export function shared<T extends object>(
  open: () => Promise<T>,
  close = (made: T): unknown => closeOrStop(made as T & Closable),
): T {
  let opened: T | undefined;
  beforeAll(async () => {
    const made = await open();
    closers.push(() => close(made));
    opened = made;
  });
  afterAll(async () => {
    await closers.pop()?.();
    opened = undefined;
  });
  return standIn(() => {
    if (opened === undefined) throw new Error('it is open only while the tests run');
    return opened;
  });
}

export const sharedStack = (options: StackOptions = {}): Stack => shared(() => startStack(options));

export const sharedMerchant = (
  stack: Stack,
  options?: Parameters<Stack['createMerchant']>[0],
): TestMerchant =>
  shared(
    () => stack.createMerchant(options),
    () => undefined,
  );

export function sharedClient<S extends DescService>(stack: Stack, service: S, role: Role): Client<S> {
  let client: Client<S> | undefined;
  return standIn(() => (client ??= stack.client(service, role)));
}

export const sharedTestDatabase = (options?: { readonly migrated: boolean }): TestDatabase =>
  shared(
    () => createTestDatabase(options),
    (database) => database.drop(),
  );

/** A connection to a database, for facts that no RPC shows. */
export const sharedConnection = (url: () => string): pg.Client =>
  shared(
    () => connectToDatabase(url()),
    (client) => client.end(),
  );

export const sharedPool = (url: () => string, max: number): pg.Pool =>
  shared(
    () => Promise.resolve(openPool({ connectionString: url(), max })),
    (pool) => pool.end(),
  );

/** A pool whose database may be dropped while the server still ends the pool's connections. */
export function openPool(config: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool(config);
  pool.on('connect', (client) => client.on('error', () => undefined));
  // pg does not wait until the server has ended a connection. Until then it counts as idle, whose errors are the pool's.
  pool.on('error', () => undefined);
  return pool;
}

export const sharedCoreDatabase = (name: string, url: () => string, poolSize: number): Database =>
  shared(() => openCoreDatabase(name, url(), poolSize));

/** The database as core opens it. `name` is the name of the connections in PostgreSQL. */
export function openCoreDatabase(name: string, url: string, poolSize: number): Promise<Database> {
  const logger = createLogger({ process: 'test', instance: name, level: 'silent' });
  return openDatabase({ url, poolSize, applicationName: name, logger });
}

/** Closes the things that tests open themselves, such as clients, after the last test: the last function is called first. */
export const sharedClosers = (): (() => unknown)[] =>
  shared(
    () => Promise.resolve<(() => unknown)[]>([]),
    async (all) => {
      for (const close of all.reverse()) await close();
    },
  );

/** Closes the things that a test opens, after each test: the last function is called first. */
export function closersOfEachTest(): (() => unknown)[] {
  const closers: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });
  return closers;
}
