import { expect, test } from '@jest/globals';
import { sharedStack } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { createDataFolder, runExample } from './run-example.ts';

const stack = sharedStack({ facades: 0, wallets: 1 });

test('the example registers, cancels, has an order paid, refunds a part of it, and follows the events', async () => {
  const { folder, close } = await createDataFolder(stack, await stack.createMerchant());
  const example = runExample('register-and-refund.ts', [], { GATEHOUSE_DATA_DIR: folder });

  await waitUntil('it has told its end', () =>
    [...example.lines, ...example.complaints].some((line) => /refunded in all|Error/.test(line)),
  );
  await example.kill();
  await close();

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
