import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { connectorKinds } from '../../../src/wallets/connector-kinds.ts';
import { walletsJsonSchema } from '../../../src/wallets/wallets-json-schema.ts';

const root = join(import.meta.dirname, '../../..');
const json = async (path: string): Promise<unknown> => JSON.parse(await readFile(join(root, path), 'utf8'));

test('the published schema matches the connectors', async () => {
  // To repair it: gatehouse wallet schema > docs/operating/wallets.schema.json
  expect(await json('docs/operating/wallets.schema.json')).toEqual(
    JSON.parse(JSON.stringify(walletsJsonSchema(connectorKinds))),
  );
});

test('another library accepts the configuration of the containers with the schema, and no invalid one', async () => {
  const isValid = new Ajv2020({ strict: false }).compile(walletsJsonSchema(connectorKinds));
  const simulated = (await json('deploy/wallets/simulated.json')) as {
    wallets: { environments: { sandbox: { settings: Record<string, unknown> } } }[];
  };

  expect([isValid(simulated), isValid.errors]).toEqual([true, null]);
  simulated.wallets[0]!.environments.sandbox.settings['client_secret'] = 'in the file';
  expect(isValid(simulated)).toBe(false);
});
