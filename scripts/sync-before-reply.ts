/**
 * Shows that an order is on disk before core acknowledges it. A test with kill -9 cannot show that, because the page cache
 * survives the kill. Traces PostgreSQL and core with strace (as root or their user; apt-get install strace). Meanwhile one order is
 * registered, and then 500 in one commit: node scripts/sync-before-reply.ts
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@connectrpc/connect';
import pg from 'pg';
import { MerchantService } from '../src/gen/gatehouse/v1/merchant_service_pb.js';
import { Environment } from '../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../src/gen/gatehouse/v1/order_service_pb.js';
import { startTemporaryNats, startTemporaryPostgres } from '../src/main/local/temporary-servers.ts';
import { createGrpcTransport } from '../src/contract/grpc-transport.ts';
import { startProcess } from '../test/support/gatehouse-process.ts';
import { walletsOfCore } from '../test/support/simulated-wallets.ts';
import { waitUntil } from '../test/support/wait-until.ts';

/** A system call with its end as strace recorded it. The lines are in the order of events. */
interface Call {
  readonly pid: string;
  readonly name: string;
  /** The file or the connection, by name. */
  readonly on: string;
  readonly line: string;
}

const traced = ['pwrite64', 'fdatasync', 'fsync', 'sendto', 'write', 'writev', 'sendmsg'];

const cleanUps: (() => Promise<unknown>)[] = [];
try {
  process.exitCode = (await watchOrders()) ? 0 : 1;
} finally {
  for (const cleanUp of cleanUps.toReversed()) await cleanUp();
}

async function watchOrders(): Promise<boolean> {
  const postgres = await startTemporaryPostgres({ durable: true });
  cleanUps.push(postgres.stop);
  const nats = await startTemporaryNats();
  cleanUps.push(nats.stop);
  const [operator, writer] = [randomBytes(16).toString('hex'), randomBytes(16).toString('hex')];
  const core = await startProcess('core', {
    GATEHOUSE_DATABASE_URL: postgres.url,
    GATEHOUSE_NATS_URL: nats.url,
    GATEHOUSE_MASTER_KEY: randomBytes(32).toString('hex'),
    GATEHOUSE_SERVICE_TOKENS: `operator:${operator},writer:${writer}`,
    GATEHOUSE_WALLETS: walletsOfCore(),
    GATEHOUSE_CORE_GRPC_PORT: '0',
    GATEHOUSE_CORE_CONNECT_PORT: '0',
  });
  cleanUps.push(() => core.stop());
  const address = String(core.ready['grpc']);
  const transportOf = (token: string) => {
    const transport = createGrpcTransport({ addresses: [address], token });
    cleanUps.push(async () => transport.close());
    return transport;
  };
  const { merchant } = await createClient(MerchantService, transportOf(operator)).createMerchant({
    name: 'Traced',
  });
  const orders = createClient(OrderService, transportOf(writer));
  const order = (orderNumber: string) => ({
    merchantId: merchant?.merchantId ?? '',
    environment: Environment.SANDBOX,
    orderNumber,
    amount: '100.50',
    currency: 'ETB',
    reason: 'Two pairs of shoes',
    customerPhone: '0911223344',
    returnUrl: 'https://shop.example/return',
  });
  const batch = Array.from({ length: 500 }, (_, index) => order(`batch-${index}`));
  // Opens the connections before the traced requests.
  await orders.registerOrder(order('before'));

  const pids = [...(await processesOf(postgres.url)), core.pid];
  const one = await trace(pids, () => orders.registerOrder(order('one')));
  const many = await trace(pids, () => orders.batchRegisterOrders({ requests: batch }));
  const port = address.split(':').at(-1) ?? '';
  return [isSyncedFirst('one order', one, port), isSyncedFirst('500 orders in one batch', many, port)].every(
    Boolean,
  );
}

/** PostgreSQL's postmaster and its children. */
async function processesOf(databaseUrl: string): Promise<number[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  const status = await readFile(`/proc/${rows[0]?.pid}/status`, 'utf8');
  await client.end();
  const postmaster = Number(/^PPid:\s+(\d+)/m.exec(status)?.[1]);
  const children = await readFile(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8');
  return [postmaster, ...children.trim().split(' ').map(Number)];
}

async function trace(pids: readonly number[], ask: () => Promise<unknown>): Promise<Call[]> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-strace-'));
  cleanUps.push(() => rm(folder, { recursive: true }));
  const output = join(folder, 'strace.txt');
  const options = ['-f', '-yy', '-s', '0', '-o', output, '-e', `trace=${traced.join()}`];
  const strace = spawn('strace', [...options, ...pids.flatMap((pid) => ['-p', String(pid)])]);
  let said = '';
  strace.stderr.on('data', (text: Buffer) => (said += text.toString()));
  const ended = new Promise<void>((resolve, reject) => {
    strace.once('error', reject);
    strace.once('close', () => resolve());
  });
  const attached = (): boolean => pids.every((pid) => said.includes(`Process ${pid} attached`));
  await Promise.race([waitUntil('strace has attached', attached), ended]);
  await ask();
  strace.kill('SIGINT');
  await ended;
  if (!attached()) throw new Error(`strace could not attach:\n${said}`);
  return readCalls(await readFile(output, 'utf8'));
}

function readCalls(text: string): Call[] {
  const begun = new Map<string, string>();
  return text.split('\n').flatMap((line) => {
    const [, pid = '', rest = ''] = /^(\d+) +(.*)$/.exec(line) ?? [];
    if (rest.endsWith('<unfinished ...>')) {
      begun.set(pid, rest);
      return [];
    }
    const whole = rest.startsWith('<...') ? `${begun.get(pid) ?? ''} ${rest}` : rest;
    const [, name, on] = /^(\w+)\(\d+<(.*?)>[,)\s]/.exec(whole) ?? [];
    return name === undefined || on === undefined ? [] : [{ pid, name, on, line }];
  });
}

/** Prints the four steps of the last answered commit in their order. Returns whether the order is right. */
function isSyncedFirst(what: string, calls: readonly Call[], corePort: string): boolean {
  const isReply = ({ on }: Call): boolean => on.startsWith(`TCP:[127.0.0.1:${corePort}->`);
  const isLog = ({ on }: Call): boolean => on.includes('/pg_wal/');
  const written = calls.findLastIndex(
    (call) => isLog(call) && call.name === 'pwrite64' && call.line.includes('pwrite64'),
  );
  const backend = calls[written]?.pid;
  const synced = calls.findIndex(
    (call, index) => index > written && isLog(call) && (call.name === 'fdatasync' || call.name === 'fsync'),
  );
  const told = calls.findIndex(
    (call, index) => index > written && call.pid === backend && call.name === 'sendto',
  );
  const answered = calls.findIndex((call, index) => index > written && isReply(call));
  const steps = [
    ['the write-ahead log is written', written],
    ['the write-ahead log is on disk', synced],
    ['PostgreSQL says so to core', told],
    ['core says so to its caller', answered],
  ] as const;
  console.log(`\n${what}`);
  for (const [step, index] of steps) console.log(`${step}: ${calls[index]?.line ?? 'NOT SEEN'}`);
  const inOrder = steps.every(
    ([, index], step) => index >= 0 && (step === 0 || index > (steps[step - 1]?.[1] ?? 0)),
  );
  console.log(inOrder ? 'in this order' : 'NOT IN THIS ORDER');
  return inOrder;
}
