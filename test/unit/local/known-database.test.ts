import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import {
  compareDatabase,
  refuseOwnDatabase,
  rememberDatabase,
} from '../../../src/main/local/known-database.ts';
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
    `used the database in ${folder}; this start uses 10.0.0.2:5432/gatehouse`,
  );
  await rememberDatabase(folder, elsewhere);
  expect(await compareDatabase(folder, other)).toContain(
    'used the database 10.0.0.2:5432/gatehouse; this start uses 10.0.0.3:5432/gatehouse',
  );
});

test.each([
  ['the database of the data folder', '127.0.0.1:5433', true],
  ['the same by its name', 'localhost:5433', true],
  ['a database on another port', '127.0.0.1:5434', false],
  ['a database of another machine', '10.0.0.2:5433', false],
])('%s is refused only if a start without the setting runs it', (_, host, isRefused) => {
  const own = 'postgres://gatehouse:secret%2F1@127.0.0.1:5433/gatehouse';
  const start = () => refuseOwnDatabase('/data', own.replace('127.0.0.1:5433', host), own);
  if (isRefused) expect(start).toThrow('Remove it, and start Gatehouse again: unset GATEHOUSE_DATABASE_URL');
  else expect(start).not.toThrow();
});

test('another database at the port of the data folder has another password, and is accepted', () => {
  const own = 'postgres://gatehouse:secret@127.0.0.1:5433/gatehouse';
  expect(() => refuseOwnDatabase('/data', own.replace('secret', 'other'), own)).not.toThrow();
});
