import { describe, expect, test } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readOrMakeSecrets } from '../../../src/main/local/secrets.ts';
import { roles } from '../../../src/contract/roles.ts';
import { temporaryFolders } from './temporary-folder.ts';

describe('the secrets of a data folder', () => {
  const newFolder = temporaryFolders();

  test('are a master key, passwords and a token for each role, all different, after the first start', async () => {
    const secrets = await readOrMakeSecrets(await newFolder(), false, randomBytes);
    expect(secrets.master_key).toMatch(/^[0-9a-f]{64}$/);
    expect(secrets.webhook_secret_key).toMatch(/^[0-9a-f]{64}$/);
    expect(Object.keys(secrets.service_tokens).sort()).toEqual([...roles].sort());
    const all = [
      secrets.master_key,
      secrets.webhook_secret_key,
      secrets.database_password,
      secrets.nats_password,
      ...Object.values(secrets.service_tokens),
    ];
    expect(new Set(all).size).toBe(all.length);
  });

  test('can be read by their owner only', async () => {
    const folder = await newFolder();
    await readOrMakeSecrets(folder, false, randomBytes);
    expect((await stat(join(folder, 'secrets.json'))).mode & 0o777).toBe(0o600);
  });

  test('are the same at a later start', async () => {
    const folder = await newFolder();
    const first = await readOrMakeSecrets(folder, false, randomBytes);
    expect(await readOrMakeSecrets(folder, true, randomBytes)).toEqual(first);
  });

  test('get a token for a role without one, and keep the others', async () => {
    const folder = await newFolder();
    const first = await readOrMakeSecrets(folder, false, randomBytes);
    const { operator: _operator, ...others } = first.service_tokens;
    await writeFile(join(folder, 'secrets.json'), JSON.stringify({ ...first, service_tokens: others }));
    const second = await readOrMakeSecrets(folder, true, randomBytes);
    expect(second).toMatchObject({ ...first, service_tokens: others });
    expect(second.service_tokens['operator']).toMatch(/^.{24,}$/);
    expect(JSON.parse(await readFile(join(folder, 'secrets.json'), 'utf8'))).toEqual(second);
  });

  test('are required to start an existing database', async () => {
    const reading = readOrMakeSecrets(await newFolder(), true, randomBytes);
    await expect(reading).rejects.toThrow(/secrets\.json is missing.*Restore it from a backup/s);
  });

  test.each([
    ['text that is not JSON', '{"master_key"', 'it is not JSON'],
    ['a malformed master key', '{"master_key":"abc"}', 'missing or malformed'],
    ['a key missing', `{"master_key":"${'0'.repeat(64)}"}`, 'missing or malformed'],
  ])('are refused with %s, and the file is left unchanged', async (_name, text, why) => {
    const folder = await newFolder();
    await writeFile(join(folder, 'secrets.json'), text);
    await expect(readOrMakeSecrets(folder, false, randomBytes)).rejects.toThrow(why);
    expect(await readFile(join(folder, 'secrets.json'), 'utf8')).toBe(text);
  });
});
