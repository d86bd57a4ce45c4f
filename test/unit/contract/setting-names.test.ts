import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { misspeltSettings, settingNames, unknownSettings } from '../../../src/contract/setting-names.ts';
import { reportedSettings } from '../../../src/main/unknown-settings.ts';

const source = join(import.meta.dirname, '../../../src');

test('every setting that the sources name is known, and no other', () => {
  const named = readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('setting-names.ts'))
    .flatMap(
      (file) => readFileSync(join(source, file), 'utf8').match(/\bGATEHOUSE_[A-Z0-9_]*[A-Z0-9]\b/g) ?? [],
    );
  // Any setting can be in a file. Some have that name only.
  const isFileOfKnown = (name: string): boolean =>
    name.endsWith('_FILE') && settingNames.includes(name.slice(0, -'_FILE'.length));
  const names = new Set(named.filter((name) => settingNames.includes(name) || !isFileOfKnown(name)));
  expect([...names].sort()).toEqual([...settingNames]);
});

test.each([
  ['GATEHOUSE_SANDBOX_PORT', '; did you mean GATEHOUSE_REST_SANDBOX_PORT?'],
  ['GATEHOUSE_MASTERKEY_FILE', '; did you mean GATEHOUSE_MASTER_KEY?'],
  ['GATEHOUSE_CORE_ADDRESS', '; did you mean GATEHOUSE_CORE_ADDRESSES?'],
  ['GATEHOUSE_REST_SANBOX_PORT', '; did you mean GATEHOUSE_REST_SANDBOX_PORT?'],
  ['GATEHOUSE_COLOUR', ''],
  ['GATEHOUSE_', ''],
])('%s has no effect, and is reported%s', (name, advice) => {
  const environment = { [name]: 'x', GATEHOUSE_TEST_ORDERS: '1', GATEHOUSE_HOST: '::', HOME: '/' };
  expect(unknownSettings(environment)).toEqual([`${name} is not a setting and has no effect${advice}`]);
});

test('known settings are not reported, also with their values in files', () => {
  const all = settingNames.flatMap((name) => [name, `${name}_FILE`]);
  expect(unknownSettings(Object.fromEntries(all.map((name) => [name, 'x'])))).toEqual([]);
});

test('names that the operator has chosen for the secrets of wallets are not reported, also in files', () => {
  const environment = { GATEHOUSE_ACME_KEY: 'x', GATEHOUSE_ACME_PIN_FILE: 'x', GATEHOUSE_OTHER_KEY: 'x' };
  expect(unknownSettings(environment, ['GATEHOUSE_ACME_KEY', 'GATEHOUSE_ACME_PIN'])).toEqual([
    'GATEHOUSE_OTHER_KEY is not a setting and has no effect',
  ]);
});

test('without the names of secrets, only a name that resembles a setting is reported', () => {
  const environment = { GATEHOUSE_TELEBIRR_APP_SECRET: 'x', GATEHOUSE_CORE_ADDRESS: 'x' };
  expect(misspeltSettings(environment)).toEqual([
    'GATEHOUSE_CORE_ADDRESS is not a setting and has no effect; did you mean GATEHOUSE_CORE_ADDRESSES?',
  ]);
});

describe('the command line reports', () => {
  const wallets = JSON.stringify({
    wallets: [
      {
        ...{ id: 'walleta', names: { en: 'A', am: 'A' }, connector: 'gsma', channels: ['ussd'] },
        currencies: [{ code: 'ETB' }],
        environments: {
          sandbox: {
            settings: { base_url: 'https://a.example', client_secret: { secret: 'GATEHOUSE_ACME_KEY' } },
          },
        },
      },
    ],
  });
  const variables = { GATEHOUSE_ACME_KEY: 'x', GATEHOUSE_OTHER_KEY: 'x' };

  test('no secret that the wallets name', () => {
    expect(reportedSettings({ ...variables, GATEHOUSE_WALLETS: wallets })).toEqual([
      'GATEHOUSE_OTHER_KEY is not a setting and has no effect',
    ]);
  });

  test('no variable that may be a secret, when the wallets are not known', () => {
    expect(reportedSettings(variables)).toEqual([]);
    expect(reportedSettings({ ...variables, GATEHOUSE_WALLETS_FILE: '/nowhere.json' })).toEqual([]);
  });
});
