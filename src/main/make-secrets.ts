/**
 * Makes the secrets of a deployment, once: `<folder>/<process>/<SETTING>`, a folder for each process. A later run keeps them, and
 * adds those that a newer version needs. docs/operating/running.md describes the files.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { bool, str } from 'envalid';
import { SettingsError, readSettings } from '../platform/settings/read-settings.ts';
import {
  completeSecrets,
  filesOfProcesses,
  requireKeyOfSecrets,
  requireSameMasterKey,
} from './deployment/secret-store.ts';
import type { SecretStore } from './deployment/secret-store.ts';
import { readIfThere, writePrivateFile } from './local/private-file.ts';
import { exitForSettings } from './read-settings.ts';
import { parseJson } from '../platform/parse-json.ts';

/** Any user may read them, because the servers run as other users. Only the mount decides which process sees a folder. */
const fileMode = 0o444;

const settings = {
  GATEHOUSE_SECRETS_FOLDER: str({ desc: 'the folder in which the folders of the processes are' }),
  GATEHOUSE_DATABASE_ADDRESS: str({ default: '127.0.0.1:5432' }),
  GATEHOUSE_NATS_ADDRESS: str({ default: '127.0.0.1:4222' }),
  GATEHOUSE_DATABASE_TLS: bool({ default: false }),
  GATEHOUSE_NATS_TLS: bool({ default: false }),
};

/** @throws SettingsError, because new secrets would not match the database */
function parseStore(text: string, path: string): SecretStore {
  const content = parseJson(text);
  if (Value.Check(Type.Record(Type.String(), Type.String()), content)) return content;
  throw new SettingsError(
    `${path} is not a JSON object with only strings as values. Correct it, or restore it from a backup, because no API key works without it`,
  );
}

async function replaceFile(path: string, text: string): Promise<void> {
  if ((await readIfThere(path)) === text) return;
  // An interrupted start may have left one, which cannot be written to.
  await rm(`${path}.new`, { force: true });
  await writeFile(`${path}.new`, text, { mode: fileMode, flush: true });
  await rename(`${path}.new`, path);
}

try {
  const config = readSettings(process.env, settings);
  const folder = config.GATEHOUSE_SECRETS_FOLDER;
  const ownFolder = join(folder, 'make-secrets');
  await mkdir(ownFolder, { recursive: true });
  const storeFile = join(ownFolder, 'secrets.json');
  const written = await readIfThere(storeFile);
  const kept = written === undefined ? {} : parseStore(written, storeFile);
  const secrets = { ...kept, ...completeSecrets(kept, process.env, randomBytes) };
  const files = filesOfProcesses(secrets, {
    database: { address: config.GATEHOUSE_DATABASE_ADDRESS, hasTls: config.GATEHOUSE_DATABASE_TLS },
    nats: { address: config.GATEHOUSE_NATS_ADDRESS, hasTls: config.GATEHOUSE_NATS_TLS },
  });
  const masterKeyFile = join(folder, 'core', 'GATEHOUSE_MASTER_KEY');
  requireSameMasterKey(masterKeyFile, await readIfThere(masterKeyFile), secrets['GATEHOUSE_MASTER_KEY']);
  const keysFile = join(folder, 'webhooks', 'GATEHOUSE_WEBHOOK_SECRET_KEYS');
  requireKeyOfSecrets(
    keysFile,
    await readIfThere(keysFile),
    files['webhooks']?.['GATEHOUSE_WEBHOOK_SECRET_KEYS'],
  );
  const text = `${JSON.stringify(secrets, undefined, 2)}\n`;
  if (text !== written) await writePrivateFile(storeFile, text);
  for (const [name, own] of Object.entries(files)) {
    await mkdir(join(folder, name), { recursive: true });
    for (const [file, content] of Object.entries(own)) await replaceFile(join(folder, name, file), content);
  }
  console.log(
    written === undefined
      ? `New secrets are in ${folder}. Back up ${storeFile}: without it no API key works`
      : `The secrets in ${folder} are complete`,
  );
} catch (error) {
  exitForSettings(error);
}
