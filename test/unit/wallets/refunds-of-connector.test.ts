import { expect, test } from '@jest/globals';
import { refundsOfConnector } from '../../../src/wallets/refunds-of-connector.ts';

test.each([
  ['gsma', 'any'],
  ['mpesa-daraja', 'whole'],
  ['mpesa-ethiopia', 'whole'],
  ['mtn-momo', 'any'],
  ['telebirr', 'any'],
  ['another-protocol', 'none'],
])('a wallet of the connector %s returns payments: %s', (connector, refunds) => {
  expect(refundsOfConnector(connector)).toBe(refunds);
});
