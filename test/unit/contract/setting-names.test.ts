import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { settingNames, unknownSettings } from '../../../src/contract/setting-names.ts';

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
