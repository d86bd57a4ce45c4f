import { create } from '@bufbuild/protobuf';
import { expect, test } from '@jest/globals';
import { orders } from '../../../src/dashboard/language/english/orders.ts';
import { paymentLinks } from '../../../src/dashboard/language/english/payment-links.ts';
import { wallets as walletWords } from '../../../src/dashboard/language/english/wallets.ts';
import { linkAmountProblem, linkCurrencyProblem } from '../../../src/dashboard/payments/link-problems.ts';
import { WalletSchema } from '../../../src/gen/gatehouse/v1/wallet_service_pb.js';

const writing = {
  form: paymentLinks.form,
  amountProblems: orders.amountProblems,
  range: walletWords.range,
  language: 'en',
} as const;
const shillings = { currency: 'KES', leastAmount: '10.00', greatestAmount: '250000.00', decimals: 0 };
const rules = {
  currencies: ['ETB', 'KES', 'USD'],
  largestAmounts: [{ currency: 'ETB', amount: '500' }],
  merchantWallets: [
    { wallet: 'walleta', paymentOptions: ['walleta_ussd'], on: true },
    { wallet: 'walletb', paymentOptions: ['walletb_ussd'], on: false },
  ],
  wallets: [
    create(WalletSchema, { wallet: 'walleta', currencies: [shillings, { currency: 'ETB', decimals: 2 }] }),
    create(WalletSchema, { wallet: 'walletb', currencies: [{ currency: 'USD', decimals: 2 }] }),
  ],
};

test.each([
  ['500.01', 'ETB', 'Enter at most ETB 500.00. This is the limit for one order of this merchant.'],
  ['1.234', 'ETB', 'Enter at most 2 decimals in ETB, such as 99.50.'],
  ['5', 'KES', 'Enter an amount that your wallets take: KES 10.00 to KES 250,000.00.'],
  ['250000.01', 'KES', 'Enter an amount that your wallets take: KES 10.00 to KES 250,000.00.'],
  ['99.50', 'KES', 'Enter a whole amount. Your wallets take no decimals in KES.'],
  ['0', 'KES', orders.amountProblems.zero],
  ['100', 'KES', undefined],
])('a refused amount of %s %s is explained: %s', (amount, currency, problem) => {
  const found = linkAmountProblem(amount, currency, rules, writing);
  expect(found?.replaceAll('\u00A0', ' ')).toBe(problem);
});

test.each([
  ['USD', rules, paymentLinks.form.noWalletTakes('USD')],
  ['USD', { ...rules, merchantWallets: rules.merchantWallets.slice(1) }, paymentLinks.form.allWalletsOff],
  ['XYZ', rules, undefined],
])('a refused currency %s is explained', (currency, own, problem) => {
  expect(linkCurrencyProblem(currency, own, writing)).toBe(problem);
});
