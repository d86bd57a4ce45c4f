import { create } from '@bufbuild/protobuf';
import { expect, test } from '@jest/globals';
import { directoryOf } from '../../../src/contract/wallet-directory.ts';
import { wallets as amharic } from '../../../src/dashboard/language/amharic/wallets.ts';
import { wallets as english } from '../../../src/dashboard/language/english/wallets.ts';
import { walletRow } from '../../../src/dashboard/wallets/wallet-views.ts';
import { MerchantWalletSchema } from '../../../src/gen/gatehouse/v1/merchant_wallet_service_pb.js';
import { WalletSchema } from '../../../src/gen/gatehouse/v1/wallet_service_pb.js';

test('the amounts that a wallet accepts are written like all other amounts: the currency first, with separators, and the decimals if they are fewer', () => {
  const currencies = [
    { currency: 'KES', leastAmount: '1', greatestAmount: '250000', decimals: 0 },
    { currency: 'ETB', leastAmount: '150.00', decimals: 1 },
    { currency: 'USD', greatestAmount: '1000.00', decimals: 2 },
    { currency: 'EUR', decimals: 2 },
  ];
  const directory = directoryOf([create(WalletSchema, { wallet: 'walleta', currencies })]);
  const wallet = create(MerchantWalletSchema, { wallet: 'walleta', paymentOptions: ['walleta_ussd'] });
  const takes = (language: 'en' | 'am') =>
    walletRow(wallet, {
      words: { en: english, am: amharic }[language],
      language,
      timeZone: 'UTC',
      directory,
    }).takes.map(({ range, decimals }) => [range.replaceAll('\u00a0', ' '), decimals]);

  expect(takes('en')).toEqual([
    ['KES 1.00 to KES 250,000.00', 'whole amounts only'],
    ['from ETB 150.00', 'at most 1 decimal'],
    ['up to $1,000.00', undefined],
    ['EUR', undefined],
  ]);
  expect(takes('am')[0]).toEqual([
    expect.stringMatching(/^ከ\S*KES.?1\.00 እስከ \S*KES.?250,000\.00$/),
    'ያለ ሳንቲም ሙሉ መጠን ብቻ',
  ]);
});
