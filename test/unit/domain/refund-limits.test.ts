import { expect, test } from '@jest/globals';
import { refundLimitOf } from '../../../src/core/domain/refund-limits.ts';
import type { RefundPolicy, RefundingRole } from '../../../src/core/domain/refund-limits.ts';

const policy: RefundPolicy = {
  refundApprovalLimits: { ETB: '1000', USD: '20' },
  refundRoleLimits: { DEVELOPER: { ETB: '200' }, OWNER: { ETB: '5000', KES: '0' } },
};

test.each<[RefundingRole | undefined, string, string, RefundingRole | undefined]>([
  ['DEVELOPER', 'ETB', '200', 'DEVELOPER'],
  ['OWNER', 'ETB', '5000', 'OWNER'],
  ['OWNER', 'KES', '0', 'OWNER'],
  ['OWNER', 'USD', '20', undefined],
  ['DEVELOPER', 'KES', '', undefined],
  [undefined, 'ETB', '1000', undefined],
  [undefined, 'KES', '', undefined],
])('the limit of %s in %s is "%s"', (role, currency, amount, holder) => {
  expect(refundLimitOf(policy, role, currency)).toEqual({ amount, role: holder });
});
