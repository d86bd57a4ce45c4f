import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { DemoFile } from '../../src/main/local/summary.ts';
import { killIfRunning } from '../support/kill-if-running.ts';
import { waitUntil } from '../support/wait-until.ts';
import { temporaryFolders } from '../unit/local/temporary-folder.ts';
import { anOrder, command, oneCommand, post, untilGone } from './one-command.ts';
import type { Run } from './one-command.ts';

async function expectOrder(run: Run, orderNumber: string): Promise<void> {
  await run.ready();
  const { status } = await post(await run.demo(), '/api/v1/verify', { order_number: orderNumber });
  expect(status).toBe(200);
}

async function pidOf(run: Run, name: string): Promise<number> {
  const [pid = 0] = [...(await run.processes())].find(([, its]) => its === name) ?? [];
  expect(pid).toBeGreaterThan(0);
  return pid;
}

/** One start after the other, each with the data of the one before. */
describe('the one command, when processes are killed', () => {
  const start = oneCommand({ lasts: 'for all tests' });
  const newFolder = temporaryFolders();
  let dataFolder: string;
  let run: Run;
  let before: DemoFile;

  beforeAll(async () => {
    dataFolder = await mkdtemp(join(tmpdir(), 'gatehouse-one-command-'));
    run = start({ dataFolder });
    await run.ready();
    before = await run.demo();
    expect(before.merchant.test_webhook_secret).toMatch(/^whsec_.{44}$/);
    expect((await post(before, '/api/v1/register', anOrder('order-1'))).status).toBe(201);
  });
  afterAll(() => rm(dataFolder, { recursive: true }));

  test('can be started again at once after it was killed itself', async () => {
    const processes = await run.processes();
    run.process.kill('SIGKILL');
    run = start({ dataFolder });
    await expectOrder(run, 'order-1');
    await untilGone(processes.keys());
  });

  test('can be started again after every one of its processes was killed at once', async () => {
    const processes = await run.processes();
    // The kernel ends some of them together with their parent.
    for (const pid of processes.keys()) killIfRunning(pid, 'SIGKILL');
    await untilGone(processes.keys());
    run = start({ dataFolder });
    await expectOrder(run, 'order-1');
  });

  test.each(['core', 'rest-facade', 'nats-server', 'postgres'])(
    'starts %s again when it ends, says so, and goes on with the same data',
    async (name) => {
      process.kill(await pidOf(run, name), 'SIGKILL');
      await waitUntil('it says so', () => run.output().includes(`! ${name} is running again`));
      const demo = await run.demo();
      await waitUntil('orders are registered again', async () => {
        const order = anOrder(`after-${name}`);
        const answer = await post(demo, '/api/v1/register', order).catch(() => undefined);
        return answer?.status === 201;
      });
      await expectOrder(run, 'order-1');
      expect(run.output()).toContain(`! ${name} ended (killed by SIGKILL); starting it again at once`);
    },
  );

  test('leaves nothing running when it is killed itself', async () => {
    const processes = await run.processes();
    run.process.kill('SIGKILL');
    await untilGone(processes.keys());
  });

  test('has the same keys and orders when it is started again, and stops everything when the process that started it is killed', async () => {
    const args = JSON.stringify(command);
    const script = `require('node:child_process').spawn(process.execPath, ${args}, { stdio: ['ignore', 1, 2, 'ipc'] })`;
    run = start({ dataFolder, command: [process.execPath, '-e', script] });
    await expectOrder(run, 'order-1');
    const after = await run.demo();
    expect(after.merchant).toEqual(before.merchant);
    expect(after.tokens).toEqual(before.tokens);
    const processes = await run.processes();
    run.process.kill('SIGKILL');
    await untilGone(processes.keys());
    expect(run.output()).toContain('Stopped. The data are kept in');
  });

  test.each([
    ['nats-server', 'a later'],
    ['postgres', 'a first'],
    ['core', 'a later'],
    ['rest-facade', 'a later'],
  ])(
    'stops what it has started when it is interrupted while %s is starting, in %s start',
    async (name, which) => {
      run = start({ dataFolder: which === 'a first' ? await newFolder() : dataFolder });
      const processes = await waitUntil(`${name} is there`, async () => {
        const found = await run.processes();
        return [...found.values()].includes(name) ? found : undefined;
      });
      run.process.kill('SIGINT');
      const exitCode = await run.ended;
      await untilGone(processes.keys());
      // On a busy machine the last process may be up before the signal is there: then this was an ordinary stop.
      if (run.output().includes('Gatehouse is running')) {
        expect([name, exitCode]).toEqual(['rest-facade', 0]);
        return;
      }
      expect(exitCode).toBe(130);
      expect(run.output()).toContain('Interrupted during the start');
    },
  );
});
