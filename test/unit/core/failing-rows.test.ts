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
