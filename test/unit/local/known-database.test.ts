import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { compareDatabase, rememberDatabase } from '../../../src/main/local/known-database.ts';
import { temporaryFolders } from './temporary-folder.ts';

const newFolder = temporaryFolders();
const elsewhere = 'postgres://gatehouse:secret@10.0.0.2:5432/gatehouse';
const other = 'postgres://gatehouse:secret@10.0.0.3:5432/gatehouse';

test('a first start takes any database, and a repeat the same one', async () => {
  const folder = await newFolder();
  expect(await compareDatabase(folder, undefined)).toBeUndefined();
  expect(await compareDatabase(folder, elsewhere)).toBeUndefined();
  await rememberDatabase(folder, elsewhere);
  expect(await compareDatabase(folder, elsewhere)).toBeUndefined();
  expect(await readFile(join(folder, 'external-database'), 'utf8')).toBe('10.0.0.2:5432/gatehouse\n');
});

test('a start without the external database is refused until a person removes its record', async () => {
  const folder = await newFolder();
  await mkdir(join(folder, 'postgres'));
  await rememberDatabase(folder, elsewhere);

  const record = join(folder, 'external-database');
  await expect(compareDatabase(folder, undefined)).rejects.toThrow(
    `Gatehouse has run with the database 10.0.0.2:5432/gatehouse (see ${record}), and GATEHOUSE_DATABASE_URL is not set now.`,
  );
  await rm(record);
  expect(await compareDatabase(folder, undefined)).toBeUndefined();
});

test('a start with another database than before names both', async () => {
  const folder = await newFolder();
  await mkdir(join(folder, 'postgres'));
  expect(await compareDatabase(folder, elsewhere)).toContain(
    `used the database in ${folder}; this one uses 10.0.0.2:5432/gatehouse`,
  );
  await rememberDatabase(folder, elsewhere);
  expect(await compareDatabase(folder, other)).toContain(
    'used the database 10.0.0.2:5432/gatehouse; this one uses 10.0.0.3:5432/gatehouse',
  );
});
