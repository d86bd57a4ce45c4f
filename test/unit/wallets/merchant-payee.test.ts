import { describe, expect, test } from '@jest/globals';
import { connectorKinds } from '../../../src/wallets/connector-kinds.ts';
import { merchantFields, payeeOf } from '../../../src/wallets/merchant-account.ts';

const kindOf = (name: string) => connectorKinds.find((kind) => kind.name === name)!;
const gsma = kindOf('gsma');
const operators = {
  base_url: 'https://api.example',
  client_id: 'gatehouse',
  payee: { type: 'accountid', id: '2999' },
};

describe("the payee account of a merchant's own values", () => {
  test.each([
    ['credentials only', { client_id: 'own' }, ''],
    ['a payee', { 'payee.type': 'accountid', 'payee.id': '3001' }, 'accountid 3001'],
    ['both', { client_id: 'own', 'payee.type': 'accountid', 'payee.id': '3001' }, 'accountid 3001'],
    ["the operator's payee", { client_id: 'own', 'payee.type': 'accountid', 'payee.id': '2999' }, ''],
    [
      "the number of the operator's payee with another type",
      { 'payee.type': 'msisdn', 'payee.id': '2999' },
      'msisdn 2999',
    ],
  ])('is the expected one with %s', (_name, values, payee) => {
    expect(payeeOf(gsma, operators, values)).toBe(payee);
  });

  test('of M-Pesa is the short code, whose statement is read', () => {
    const settings = { short_code: '174379', till_number: '1' };

    expect(payeeOf(kindOf('mpesa-daraja'), settings, { short_code: '600000' })).toBe('600000');
    expect(payeeOf(kindOf('mpesa-daraja'), settings, { till_number: '2' })).toBe('');
  });
});

test.each(connectorKinds.map((kind) => [kind.name, kind] as const))(
  'the values that name the payee of %s are not secret, and merchants can replace them',
  (_name, kind) => {
    const named = merchantFields(kind).filter(({ name }) => kind.payeeSettings.includes(name.split('.')[0]!));

    expect(new Set(named.map(({ name }) => name.split('.')[0]))).toEqual(new Set(kind.payeeSettings));
    expect(named.filter(({ isSecret }) => isSecret)).toEqual([]);
  },
);
