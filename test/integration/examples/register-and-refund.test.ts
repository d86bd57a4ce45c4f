import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { sharedStack } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { runExample } from './run-example.ts';

const stack = sharedStack({ facades: 0, wallets: 1 });

test('the example registers, cancels, has an order paid, refunds a part of it, and follows the events', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-example-'));
  const { id } = await stack.createMerchant();
  const tokens = { reader: stack.tokens.reader, writer: stack.tokens.writer };
  const demo = { grpc: stack.addresses[0], connect: stack.connectUrl, tokens, merchant: { id } };
  await writeFile(join(folder, 'demo.json'), JSON.stringify(demo));
  const example = runExample('register-and-refund.ts', [], { GATEHOUSE_DATA_DIR: folder });

  await waitUntil('it has told its end', () =>
    [...example.lines, ...example.complaints].some((line) => /refunded in all|Error/.test(line)),
  );
  await example.kill();
  await rm(folder, { recursive: true });

  expect(example.complaints.filter((line) => line.includes('Error'))).toEqual([]);
  const words = example.lines.map((line) =>
    line.replace(/example-[0-9]+/, 'N').replace(/rfd_[0-9a-z]+/, 'rfd'),
  );
  expect(words).toEqual(
    expect.arrayContaining([
      'N-C 2 FAILED',
      'N 3 COMPLETED',
      'refund rfd of 40.00 ETB requested',
      'N 5 REFUND_COMPLETED 40.00 ETB',
      'refunded in all: 40.00 ETB',
    ]),
  );
});
