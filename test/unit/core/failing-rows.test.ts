import { mock } from 'node:test';
import { expect, test } from '@jest/globals';
import { createFailingRows } from '../../../src/core/payments/changes/failing-rows.ts';
import { newRandomId, storedId } from '../../../src/contract/public-id.ts';
import { keptLog } from '../../support/kept-log.ts';

test.each([
  ['ord', 'order_id', 'an order cannot be read or changed'],
  ['rfd', 'refund_id', 'a refund cannot be read or changed'],
  ['stp', 'stray_payment_id', 'a stray payment cannot be read or changed'],
  ['ppm', 'payer_payment_id', 'a payer-started payment cannot be read or changed'],
] as const)(
  'a row of the kind %s that cannot be changed is logged, and left out for a minute',
  (kind, field, line) => {
    const clock = mock.method(performance, 'now', () => 0);
    const { logger, log } = keptLog();
    const rows = createFailingRows<typeof kind>(kind, logger);
    const [id, merchantId] = [newRandomId(kind, new Date()), newRandomId('mer', new Date())];
    const row = {
      id: storedId(kind, id),
      merchantId: storedId('mer', merchantId),
      environment: 'SANDBOX',
    } as const;

    rows.add(row, new RangeError('XXX is no currency'));
    const leftOut = [0, 59_999, 60_000].map((ms) => {
      clock.mock.mockImplementation(() => ms);
      return rows.ids();
    });
    clock.mock.restore();

    expect(leftOut).toEqual([[row.id], [row.id], []]);
    expect(log).toEqual([
      expect.objectContaining({ [field]: id, merchant_id: merchantId, msg: expect.stringContaining(line) }),
    ]);
  },
);

test.each([
  ['a damaged row', 'XX001', 'left out'],
  ['a defect', undefined, 'left out'],
  ['a full disk', '53100', 'not left out'],
  ['a missing privilege', '42501', 'not left out'],
  ['a missing schema', '3F000', 'not left out'],
])('after %s, with the SQLSTATE %p, a row among five that fails is %s', async (_fault, code, outcome) => {
  const { logger } = keptLog();
  const rows = createFailingRows('ord', logger);
  const all = [1, 2, 3, 4, 5].map((number) => ({
    id: storedId('ord', newRandomId('ord', new Date(number))),
    merchantId: null,
    environment: 'SANDBOX' as const,
  }));
  const failing = all[3]?.id;

  const changed = rows
    .leaveOut(async (choose) => {
      const chosen = choose(all, (each) => each);
      if (chosen.some(({ id }) => id === failing)) throw Object.assign(new Error('refused'), { code });
      return chosen;
    })
    .then((answers) => answers.length);

  if (outcome === 'not left out') await expect(changed).rejects.toThrow('refused');
  else await expect(changed).resolves.toBe(4);
  expect(rows.ids()).toEqual(outcome === 'not left out' ? [] : [failing]);
});
