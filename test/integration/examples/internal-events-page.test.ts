import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { registration } from '../../support/order-requests.ts';
import { shared, sharedStack } from '../../support/shared-stack.ts';
import { killIfRunning } from '../../support/kill-if-running.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { createDataFolder } from './run-example.ts';

const project = resolve(import.meta.dirname, '../../..');
const page = await readFile(join(project, 'docs/internal-events.md'), 'utf8');

const blocksOf = (language: string): string[] =>
  [...page.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].flatMap(([, found, text = '']) =>
    found === language ? [text] : [],
  );

/** A block may be deeper in the example than on the page. */
const withoutIndentation = (text: string): string => text.replaceAll(/^ +/gm, '');

test.each(blocksOf('ts'))('the page shows the code of the example: %s', async (block) => {
  const examples = ['follow-order-events.ts', 'consume-order-stream.ts', 'register-and-refund.ts'].map(
    (name) => readFile(join(project, 'examples', name), 'utf8'),
  );
  const texts = (await Promise.all(examples)).map(withoutIndentation);

  expect(texts.some((text) => text.includes(withoutIndentation(block)))).toBe(true);
});

describe('the commands on the page', () => {
  const [settings = '', ...commands] = blocksOf('sh');
  const stack = sharedStack({ facades: 0 });
  const data = shared(() => createDataFolder(stack));

  beforeAll(async () => {
    const { id: merchantId } = await stack.createMerchant();
    await stack
      .client(OrderService, 'writer')
      .registerOrder(registration({ merchantId, orderNumber: 'D-1' }));
    // A transaction of another test, in the same PostgreSQL server, may hold the event back from all readers.
    const reader = stack.client(OrderService, 'reader');
    await waitUntil(
      'the event can be read',
      async () => (await reader.listOrderEvents({})).entries.length > 0,
    );
  });

  test.each(commands)('print the event: %s', async (command) => {
    const script = `${settings.replaceAll('./.gatehouse', data.folder)}${command}`;
    const child = spawn('/bin/sh', ['-c', script], {
      cwd: project,
      env: { PATH: process.env['PATH'], HOME: data.folder },
      // A group of its own, so that what npx starts ends, too.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
    let code: number | null | undefined;
    const gone = new Promise<void>((done) =>
      child.once('close', (exitCode) => {
        code = exitCode;
        done();
      }),
    );
    try {
      await waitUntil('it prints or ends', () => output.includes('D-1') || code !== undefined);
      expect(output).toContain('ORDER_EVENT_TYPE_CREATED');
      expect(output).toMatch(/"orderNumber": ?"D-1"/);
    } finally {
      // A command that has exited may still have output to read, which `close` waits for.
      if (code === undefined && child.pid !== undefined) killIfRunning(-child.pid, 'SIGTERM');
      await gone;
    }
  });
});
