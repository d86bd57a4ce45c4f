import { describe, expect, test } from '@jest/globals';
import { parseWalletSettings } from '../../../src/wallets/wallet-settings.ts';

const secret = 'very-secret-value';
const wallet = {
  wallet: 'walleta',
  environment: 'sandbox',
  base_url: 'https://wallet.example/api',
  client_id: 'shop',
  client_secret: secret,
  api_key: secret,
  payee: { type: 'accountid', id: '2999' },
  currencies: ['ETB'],
};
const parse = (...wallets: readonly object[]) => parseWalletSettings(JSON.stringify(wallets));

describe('wallet settings', () => {
  test('may name each wallet once in each environment, or none at all', () => {
    expect(parse()).toEqual([]);
    const all = ['walleta', 'walletb'].flatMap((name) =>
      ['sandbox', 'production'].map((environment) => ({ ...wallet, wallet: name, environment })),
    );
    expect(parse(...all)).toEqual(all);
  });

  test('take addresses and networks of either family as sources of callbacks', () => {
    const sources = ['192.0.2.1', '10.0.0.0/8', '2001:db8::1', '2001:db8::/32'];

    expect(parse({ ...wallet, callback_sources: sources })[0]?.callback_sources).toEqual(sources);
  });

  test('take a key that callbacks must carry', () => {
    const key = 'what-callbacks-must-carry';

    expect(parse({ ...wallet, callback_api_key: key })[0]?.callback_api_key).toBe(key);
  });

  test('that name a wallet twice in one environment are refused', () => {
    expect(() => parse(wallet, wallet)).toThrow('GATEHOUSE_WALLETS names walleta-sandbox twice');
  });

  test.each<[string, object, string]>([
    ['an unknown wallet', { wallet: 'walletc' }, '/1/wallet'],
    ['an unknown environment', { environment: 'live' }, '/1/environment'],
    ['no base URL', { base_url: undefined }, '/1/base_url'],
    ['a base URL without a host', { base_url: 'http://' }, '/1/base_url'],
    ['a base URL of another scheme', { base_url: 'ftp://wallet.example' }, '/1/base_url'],
    ['an empty secret', { client_secret: '' }, '/1/client_secret'],
    ['no key', { api_key: undefined }, '/1/api_key'],
    ['a payee without an id', { payee: { type: 'accountid' } }, '/1/payee/id'],
    ['no currency', { currencies: [] }, '/1/currencies'],
    ['a currency in lower case', { currencies: ['etb'] }, '/1/currencies/0'],
    [
      'a source that is a name',
      { callback_sources: ['127.0.0.1', 'wallet.example'] },
      '/1/callback_sources/1',
    ],
    ['a source with too many bits', { callback_sources: ['10.0.0.0/33'] }, '/1/callback_sources/0'],
    ['a source with bits that are none', { callback_sources: ['10.0.0.0/x'] }, '/1/callback_sources/0'],
    ['an empty key of callbacks', { callback_api_key: '' }, '/1/callback_api_key'],
    [
      'a key of callbacks that can be guessed',
      { callback_api_key: 'fifteen-letters' },
      '/1/callback_api_key',
    ],
    [
      'a key of callbacks that fits no header',
      { callback_api_key: 'sixteen letters\n' },
      '/1/callback_api_key',
    ],
    ['a key of callbacks that is no text', { callback_api_key: 7 }, '/1/callback_api_key'],
    ['no request at a time', { max_in_flight: 0 }, '/1/max_in_flight'],
    ['calls longer than a lease', { call_timeout_ms: 30_001 }, '/1/call_timeout_ms'],
    ['an option nobody knows', { colour: 'red' }, '/1/colour'],
  ])('with %s are refused, naming the place', (_name, wrong, place) => {
    const good = { ...wallet, wallet: 'walletb' };

    expect(() => parse(good, { ...wallet, ...wrong })).toThrow(`GATEHOUSE_WALLETS ${place}`);
  });

  test.each(['', '{', 'null', '{}', '"walleta"', '[null]'])('%j is refused', (json) => {
    expect(() => parseWalletSettings(json)).toThrow('GATEHOUSE_WALLETS');
  });

  test('are never repeated in an error: they are secret', () => {
    const wrong = [
      { ...wallet, api_key: [secret] },
      { ...wallet, client_secret: 5, api_key: secret },
      { ...wallet, callback_api_key: `${secret} ` },
    ];

    for (const settings of [...wrong.map((one) => JSON.stringify([one])), `[${secret}`]) {
      let message = '';
      try {
        parseWalletSettings(settings);
      } catch (error) {
        message = String(error);
      }
      expect(message).toContain('GATEHOUSE_WALLETS');
      expect(message).not.toContain(secret);
    }
  });
});
