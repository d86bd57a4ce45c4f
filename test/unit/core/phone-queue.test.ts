import { expect, test } from '@jest/globals';
import { createPhoneLimit } from '../../../src/core/payments/phones/phone-limit.ts';
import type { AskedPhone } from '../../../src/core/payments/phones/phone-limit.ts';
import { refusalOf } from '../../support/rpc-failure.ts';

const asked: AskedPhone = {
  phone: '+251911223344',
  environment: 'PRODUCTION',
  merchantId: 'mer_one',
  network: null,
};

test('at most twenty payments of one requester wait for a phone, and they keep no other requester from it', async () => {
  const { inTurn } = createPhoneLimit({ promptsPerTenMinutes: 5, random: () => 0 });
  const first = Promise.withResolvers<string>();
  const waiting = Array.from({ length: 20 }, () => inTurn(asked, () => first.promise));

  expect(await refusalOf(inTurn(asked, () => first.promise))).toBe('PHONE_BUSY');

  const ofOthers = [
    inTurn({ ...asked, merchantId: 'mer_other' }, () => first.promise),
    inTurn({ ...asked, network: '198.51.100.0/24' }, () => first.promise),
  ];
  first.resolve('started');
  await Promise.all([...waiting, ...ofOthers]);
  expect(await inTurn(asked, () => Promise.resolve('started'))).toBe('started');
});
