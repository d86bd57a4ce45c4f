import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createClient } from '@connectrpc/connect';
import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { Health } from '../../src/gen/health/v1/health_pb.js';
import { createGrpcTransport } from '../../src/contract/grpc-transport.ts';
import type { GatehouseProcess } from '../support/gatehouse-process.ts';
import { startStack } from '../support/stack.ts';
import type { Stack } from '../support/stack.ts';
import { waitUntil } from '../support/wait-until.ts';
import { crashCorpus, halfRequests, http2Calls } from './crash-corpus.ts';
import type { CrashCase } from './crash-corpus.ts';
import { projectRoot } from './one-command.ts';

// Invariant: no request from outside ends a process. A new listener is one line here.

interface Listener {
  /** The setting of its port. */
  readonly setting: `GATEHOUSE_${string}_PORT`;
  readonly process: () => GatehouseProcess | undefined;
  /** The part of the process's `ready` line that says where it listens. */
  readonly ready: string;
  readonly kind: 'merchant API' | 'HTTP' | 'Connect' | 'gRPC';
  /** The path under which the next segment is a parameter. */
  readonly prefix: string;
  /** A request that it answers with 200 when it is healthy. */
  readonly probe: string;
}

let stack: Stack;
const facade = () => stack.facades[0]?.process;
const core = () => stack.cores[0];
const webhooks = () => stack.webhooks[0];
const rpcPrefix = '/gatehouse.v1.OrderService/';
const listeners: readonly Listener[] = (
  [
    ['REST_PRODUCTION', facade, 'production', 'merchant API', '/api/v1/'],
    ['REST_SANDBOX', facade, 'sandbox', 'merchant API', '/docs/static/'],
    ['CHECKOUT', () => stack.checkouts[0]?.process, 'checkout', 'HTTP', '/c/'],
    ['DASHBOARD', () => stack.dashboards[0]?.process, 'dashboard', 'HTTP', '/invitation/'],
    ['WALLET_CALLBACK', () => stack.wallets[0], 'callbacks', 'HTTP', '/callbacks/walleta-sandbox/'],
    ['SIMULATOR', () => stack.simulator, 'origin', 'HTTP', '/walleta/accounts/'],
    ['CORE_GRPC', core, 'grpc', 'gRPC', rpcPrefix],
    ['CORE_CONNECT', core, 'connect', 'Connect', rpcPrefix],
    ['WEBHOOKS_GRPC', webhooks, 'grpc', 'gRPC', rpcPrefix],
    ['WEBHOOKS_CONNECT', webhooks, 'connect', 'Connect', rpcPrefix],
  ] as const
).map(([name, process, ready, kind, prefix]) => ({
  ...{ setting: `GATEHOUSE_${name}_PORT`, process, ready, kind, prefix },
  probe: prefix === rpcPrefix ? '/metrics' : '/healthz',
}));
/** Ports of programs that are not part of Gatehouse. */
const notOurs = ['GATEHOUSE_POSTGRES_PORT', 'GATEHOUSE_NATS_PORT'];

const addressOf = ({ process, ready }: Listener): string =>
  String(process()?.ready[ready]).replace('http://', '');
const portOf = (listener: Listener): number => Number(addressOf(listener).split(':').at(-1));

/** The number of connections that are open at a time. When a process exits, one of them caused it. */
const atOnce = 16;

interface HalfRequest {
  readonly what: string;
  readonly exchange: Exchange;
}
/** They are opened first, because the listeners close them after their own time limits. */
let halves: HalfRequest[] = [];

beforeAll(async () => {
  stack = await startStack({ ownProcesses: true, wallets: 1, checkouts: 1, dashboards: 1, webhooks: 1 });
  halves = await Promise.all(
    listeners.flatMap((listener) =>
      halfRequests.map(async ({ name, bytes }) => ({
        what: `${listener.setting}: ${name}`,
        exchange: await open(portOf(listener), bytes),
      })),
    ),
  );
});
afterAll(async () => {
  for (const { exchange } of halves) exchange.socket.destroy();
  await stack.stop();
});

interface Exchange {
  readonly socket: Socket;
  readonly received: () => string;
  readonly closed: () => boolean;
}

async function open(port: number, bytes: string): Promise<Exchange> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  let received = '';
  let closed = false;
  socket.on('data', (chunk) => (received += chunk.toString('latin1')));
  socket.on('error', () => undefined);
  // The server sends nothing after it has half-closed.
  socket.on('end', () => socket.end());
  socket.on('close', () => (closed = true));
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
  });
  socket.write(Buffer.from(bytes, 'latin1'));
  return { socket, received: () => received, closed: () => closed };
}

/** Sends the bytes, half-closes, and returns everything that is answered. */
async function exchange(port: number, { name, bytes, reset }: CrashCase): Promise<string> {
  const { socket, received, closed } = await open(port, bytes);
  if (reset === true) socket.resetAndDestroy();
  else socket.end();
  await waitUntil(`the connection is closed after: ${name}`, closed);
  return received();
}

/** The fault of an answer. On gRPC's port, HTTP/1.1 has none. */
function faultsOf({ name, status, reset }: CrashCase, answer: string, kind: Listener['kind']): object[] {
  if (kind === 'gRPC' || reset === true) return [];
  const given = firstStatus(answer);
  if (given === undefined) return status === undefined ? [] : [{ name, expected: status, answer }];
  const body = answer.slice(answer.indexOf('\r\n\r\n') + 4);
  const isEnvelope = given < 400 || body.startsWith(`{"code":${given},"message":"`);
  const isRight = given < 500 && (status ?? given) === given && (kind !== 'merchant API' || isEnvelope);
  return isRight ? [] : [{ name, expected: status, given, body: body.slice(0, 200) }];
}

const firstStatus = (answer: string): number | undefined =>
  Number(/^HTTP\/1\.1 ([0-9]{3})/.exec(answer)?.[1]) || undefined;

/** The listener answers correctly, and its process is still the one that was started. */
async function expectWell(listener: Listener, after: readonly CrashCase[] = []): Promise<void> {
  const process = listener.process();
  const fatal = process?.log.filter(({ level }) => level === 'fatal');
  if (fatal?.length !== 0) expect({ fatal, after: after.map(({ name }) => name) }).toEqual({ fatal: [] });
  expect((await readFile(`/proc/${process?.pid}/stat`, 'utf8')).startsWith(`${process?.pid} `)).toBe(true);
  if (listener.kind === 'gRPC') {
    const transport = createGrpcTransport({ addresses: [addressOf(listener)], token: stack.tokens.reader });
    expect(await createClient(Health, transport).check({})).toMatchObject({ status: 1 });
    transport.close();
  } else {
    const { status } = await fetch(`http://${addressOf(listener)}${listener.probe}`, {
      headers: { connection: 'close' },
    });
    expect(status).toBe(200);
  }
}

test('every port in the settings is in the corpus', async () => {
  const files = globSync('src/**/settings.ts', { cwd: projectRoot });
  const settings = await Promise.all(files.map((file) => readFile(join(projectRoot, file), 'utf8')));
  const ports = new Set(settings.join().match(/\bGATEHOUSE_\w+_PORT\b/g));

  expect([...listeners.map(({ setting }) => setting), ...notOurs].sort()).toEqual([...ports].sort());
});

describe.each(listeners.map((listener) => [listener.setting, listener] as const))('%s', (_name, listener) => {
  test('survives every malformed input, and answers valid HTTP afterwards', async () => {
    const wrong: object[] = [];
    const corpus = crashCorpus(listener.prefix);
    for (let at = 0; at < corpus.length; at += atOnce) {
      const cases = corpus.slice(at, at + atOnce);
      const answers = await Promise.all(cases.map((each) => exchange(portOf(listener), each)));
      await expectWell(listener, cases);
      wrong.push(...cases.flatMap((each, i) => faultsOf(each, answers[i] ?? '', listener.kind)));
    }
    expect(wrong).toEqual([]);
  });
});

describe.each(
  listeners
    .filter(({ kind }) => kind === 'gRPC' || kind === 'Connect')
    .map((listener) => [listener.setting, listener] as const),
)('%s over HTTP/2', (_name, listener) => {
  test('survives malformed calls', async () => {
    const calls = http2Calls('/grpc.health.v1.Health/Check').map(async ([headers, body]) => {
      const session = connectHttp2(`http://${addressOf(listener)}`);
      session.on('error', () => undefined);
      const stream = session.request({ ':method': 'POST', ...headers });
      let over = false;
      stream.on('error', () => undefined);
      for (const event of ['end', 'close']) stream.on(event, () => (over = true));
      stream.resume();
      stream.end(Buffer.from(body, 'latin1'));
      const what = `${JSON.stringify(headers).slice(0, 80)} ${JSON.stringify(body.slice(0, 9))}`;
      await waitUntil(`the call is over: ${what}`, () => over);
      session.destroy();
    });
    await Promise.all(calls);
    await expectWell(listener);
  });
});

test('every listener closes requests that begin and never end', async () => {
  const open = (): string[] => halves.filter(({ exchange: { closed } }) => !closed()).map(({ what }) => what);
  await waitUntil('all are closed', () => open().length === 0).catch(() => expect(open()).toEqual([]));
  for (const listener of listeners) await expectWell(listener);
});

test('no process was restarted, and no log has an error', () => {
  const processes = new Set(listeners.map(({ process }) => process()));
  const loud = [...processes].flatMap((process) =>
    (process?.log ?? []).filter(
      ({ level, msg = '' }) => level === 'error' || level === 'fatal' || /^E |Unhandled/.test(msg),
    ),
  );
  expect(loud).toEqual([]);
});
