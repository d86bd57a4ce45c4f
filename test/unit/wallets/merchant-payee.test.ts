import { describe, expect, test } from '@jest/globals';
import { connectorKinds } from '../../../src/wallets/connector-kinds.ts';
import { merchantFields, payeeOf, withMerchantValues } from '../../../src/wallets/merchant-account.ts';

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

describe("the settings of a merchant's own account", () => {
  const mtn = {
    base_url: 'https://mtn.example',
    ...{ collection_subscription_key: 'c', collection_api_user: 'u', collection_api_key: 'k' },
    ...{ disbursement_subscription_key: 'd', disbursement_api_user: 'v', disbursement_api_key: 'l' },
  };
  const own = { collection_subscription_key: 'C', collection_api_user: 'U', collection_api_key: 'K' };
  const ownRefunds = {
    ...{ disbursement_subscription_key: 'D', disbursement_api_user: 'V', disbursement_api_key: 'L' },
  };

  test.each([
    ['without credentials for refunds', own, { base_url: 'https://mtn.example', ...own }],
    [
      'with an API user of its own only',
      { collection_api_user: 'U' },
      {
        base_url: 'https://mtn.example',
        ...{ collection_subscription_key: 'c', collection_api_user: 'U', collection_api_key: 'k' },
      },
    ],
    [
      'with all credentials',
      { ...own, ...ownRefunds },
      { base_url: 'https://mtn.example', ...own, ...ownRefunds },
    ],
    [
      'with another callback host only',
      { provider_callback_host: 'h' },
      { ...mtn, provider_callback_host: 'h' },
    ],
  ])("never pay its refunds from the operator's account at MTN, %s", (_name, values, expected) => {
    expect(withMerchantValues(kindOf('mtn-momo'), mtn, values)).toEqual(expected);
  });

  test.each(['mpesa-daraja', 'mpesa-ethiopia'])(
    "with a short code of its own never name the operator's till at %s",
    (name) => {
      const settings = { short_code: '174379', transaction_type: 'till', till_number: '5550001' };
      const of = (values: Readonly<Record<string, string>>) =>
        withMerchantValues(kindOf(name), settings, values);

      expect(of({ short_code: '600000' })).toEqual({ short_code: '600000' });
      expect(of({ short_code: '600000', transaction_type: 'till', till_number: '7' })).toEqual({
        ...{ short_code: '600000', transaction_type: 'till', till_number: '7' },
      });
      expect(of({ till_number: '7' })).toEqual({ ...settings, till_number: '7' });
    },
  );
});

test.each(connectorKinds.map((kind) => [kind.name, kind] as const))(
  'the bound settings of %s are optional and a merchant can replace them, so that an account without them works',
  (_name, kind) => {
    const { required = [] } = kind.settings as { readonly required?: readonly string[] };
    const bound = (kind.boundSettings ?? []).flatMap((group) => group.bound);
    const all = (kind.boundSettings ?? []).flatMap(({ account }) => [...account, ...bound]);

    expect(bound.filter((setting) => required.includes(setting))).toEqual([]);
    expect(all.filter((setting) => !kind.merchantSettings.includes(setting))).toEqual([]);
  },
);

test.each(connectorKinds.map((kind) => [kind.name, kind] as const))(
  'the values that name the payee of %s are not secret, and merchants can replace them',
  (_name, kind) => {
    const named = merchantFields(kind).filter(({ name }) => kind.payeeSettings.includes(name.split('.')[0]!));

    expect(new Set(named.map(({ name }) => name.split('.')[0]))).toEqual(new Set(kind.payeeSettings));
    expect(named.filter(({ isSecret }) => isSecret)).toEqual([]);
  },
);
