import { expect, test } from '@jest/globals';
import { connectorRefunds, refundsOfConnector } from '../../../src/contract/connector-refunds.ts';
import { connectorKinds } from '../../../src/wallets/connector-kinds.ts';

test('core knows of every connector how it returns payments, and of no other', () => {
  const declared = connectorKinds.map(({ name, capabilities: { reversal, partialReversal } }) => [
    name,
    !reversal ? 'none' : partialReversal ? 'any' : 'whole',
  ]);

  expect(connectorRefunds).toEqual(Object.fromEntries(declared));
  expect(refundsOfConnector('toString')).toBe('none');
});
