import { describe, expect, test } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readOrMakeSecrets } from '../../../src/main/local/secrets.ts';
import { roles } from '../../../src/contract/roles.ts';
import { temporaryFolders } from './temporary-folder.ts';

describe('the secrets of a data folder', () => {
  const newFolder = temporaryFolders();

  test('the first start makes a master key, passwords and a token for each role, all different', async () => {
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

  test('only their owner may read them', async () => {
    const folder = await newFolder();
    await readOrMakeSecrets(folder, false, randomBytes);
    expect((await stat(join(folder, 'secrets.json'))).mode & 0o777).toBe(0o600);
  });

  test('a later start reads the same', async () => {
    const folder = await newFolder();
    const first = await readOrMakeSecrets(folder, false, randomBytes);
    expect(await readOrMakeSecrets(folder, true, randomBytes)).toEqual(first);
  });

  test('a role without a token gets one, and the others keep theirs', async () => {
    const folder = await newFolder();
    const first = await readOrMakeSecrets(folder, false, randomBytes);
    const { operator: _operator, ...others } = first.service_tokens;
    await writeFile(join(folder, 'secrets.json'), JSON.stringify({ ...first, service_tokens: others }));
    const second = await readOrMakeSecrets(folder, true, randomBytes);
    expect(second).toMatchObject({ ...first, service_tokens: others });
    expect(second.service_tokens['operator']).toMatch(/^.{24,}$/);
    expect(JSON.parse(await readFile(join(folder, 'secrets.json'), 'utf8'))).toEqual(second);
  });

  test('a file of before there were webhooks gets the key that encrypts signing secrets, and keeps it', async () => {
    const folder = await newFolder();
    const { webhook_secret_key: _key, ...before } = await readOrMakeSecrets(folder, false, randomBytes);
    await writeFile(join(folder, 'secrets.json'), JSON.stringify(before));
    const second = await readOrMakeSecrets(folder, true, randomBytes);
    expect(second).toMatchObject(before);
    expect(second.webhook_secret_key).toMatch(/^[0-9a-f]{64}$/);
    expect(await readOrMakeSecrets(folder, true, randomBytes)).toEqual(second);
  });

  test('without them an existing database is not started with new ones', async () => {
    const reading = readOrMakeSecrets(await newFolder(), true, randomBytes);
    await expect(reading).rejects.toThrow(/secrets\.json is missing.*Restore it from a backup/s);
  });

  test.each([
    ['text that is no JSON', '{"master_key"', 'it is not JSON'],
    ['a malformed master key', '{"master_key":"abc"}', 'missing or malformed'],
  ])('%s is refused, and the file is left as it is', async (_name, text, why) => {
    const folder = await newFolder();
    await writeFile(join(folder, 'secrets.json'), text);
    await expect(readOrMakeSecrets(folder, false, randomBytes)).rejects.toThrow(why);
    expect(await readFile(join(folder, 'secrets.json'), 'utf8')).toBe(text);
  });
});
