import { glob, readFile } from 'node:fs/promises';
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

test('another library accepts the configuration of the containers and the examples of the documentation with the schema, and no invalid one', async () => {
  const isValid = new Ajv2020({ strict: false }).compile(walletsJsonSchema(connectorKinds));
  const simulated = (await json('deploy/wallets/simulated.json')) as {
    wallets: { environments: { sandbox: { settings: Record<string, unknown> } } }[];
  };

  expect([isValid(simulated), isValid.errors]).toEqual([true, null]);
  const examples: unknown[] = [];
  for await (const page of glob(['docs/wallets/*.md', 'docs/operating/wallets.md'], { cwd: root }))
    for (const [, text] of (await readFile(join(root, page), 'utf8')).matchAll(
      /^ *```json\n([^`]*"wallets":[^`]*)```/gm,
    ))
      examples.push(JSON.parse(text!));
  expect(examples.map((example) => isValid(example) || isValid.errors)).toEqual([true, true, true, true]);
  simulated.wallets[0]!.environments.sandbox.settings['client_secret'] = 'in the file';
  expect(isValid(simulated)).toBe(false);
});
