import { expect, test } from '@jest/globals';
import { SettingsError } from '../../../src/platform/settings/read-settings.ts';
import { readWalletSimulatorSettings } from '../../../src/wallet-simulator/settings.ts';

const client = (name: string) => ({
  client_id: name,
  client_secret: `secret-${name}`,
  api_key: `key-${name}`,
});
const both = JSON.stringify({ walleta: client('a'), walletb: client('b') });

test('credentials are read for each wallet, and other settings have defaults', () => {
  expect(readWalletSimulatorSettings({ GATEHOUSE_SIMULATOR_CREDENTIALS: both })).toMatchObject({
    GATEHOUSE_HOST: '127.0.0.1',
    GATEHOUSE_SIMULATOR_PORT: 8090,
    GATEHOUSE_SIMULATOR_INTERACTIVE: false,
    GATEHOUSE_SIMULATOR_TIME_SCALE: 1,
    GATEHOUSE_SIMULATOR_CREDENTIALS: [
      { id: 'walleta', protocol: 'gsma', basePath: '/walleta', credentials: client('a') },
      { id: 'walletb', protocol: 'gsma', basePath: '/walletb', credentials: client('b') },
    ],
  });
});

test.each([
  ['text that is not JSON', 'walleta=a'],
  ['no wallet', '{}'],
  ['an id in capitals', JSON.stringify({ walleta: client('a'), Mtn: client('b') })],
  ['an unknown protocol', JSON.stringify({ walleta: { protocol: 'carrier-pigeon', ...client('a') } })],
  [
    'an empty secret',
    JSON.stringify({ walleta: client('a'), walletb: { ...client('b'), client_secret: '' } }),
  ],
  ['a number for a key', JSON.stringify({ walleta: client('a'), walletb: { ...client('b'), api_key: 7 } })],
  ['an inherited name', '{"walleta":"","walletb":[]}'],
])('credentials with %s are refused, and are not shown', (_name, value) => {
  const read = () => readWalletSimulatorSettings({ GATEHOUSE_SIMULATOR_CREDENTIALS: value });

  expect(read).toThrow(SettingsError);
  expect(read).toThrow(/GATEHOUSE_SIMULATOR_CREDENTIALS must be JSON with credentials by wallet/);
  expect(read).not.toThrow(/secret-a/);
});

test.each(['0', '-1', 'fast', '1e3', ''.padEnd(9, '9')])('a time scale of %s is refused', (scale) => {
  expect(() =>
    readWalletSimulatorSettings({
      GATEHOUSE_SIMULATOR_CREDENTIALS: both,
      GATEHOUSE_SIMULATOR_TIME_SCALE: scale,
    }),
  ).toThrow(/GATEHOUSE_SIMULATOR_TIME_SCALE must be a factor above 0/);
});
