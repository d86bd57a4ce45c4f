import { join } from 'node:path';
import { Type } from '@sinclair/typebox';
import type { Static } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { v4 as uuidv4 } from 'uuid';
import { roles } from '../../contract/roles.ts';
import { completeWalletSecrets } from './demo-wallets.ts';
import { readIfThere, writePrivateFile } from './private-file.ts';
import { StartError } from './start-error.ts';

const Secret = Type.String({ minLength: 24 });
const SecretsFile = Type.Object({
  /** The pepper of key hashes and tokens. Without it, every API key in the database is invalid. */
  master_key: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  database_password: Secret,
  nats_password: Secret,
  /** Makes the wallets' callback URLs unguessable. */
  wallet_callback_key: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  /** The credentials between the simulated wallets and the wallets process, by wallet and name. */
  simulated_wallets: Type.Record(Type.String(), Type.Record(Type.String(), Secret)),
  /** Encrypts the merchants' signing secrets at rest. */
  webhook_secret_key: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  service_tokens: Type.Record(Type.String(), Secret),
});
/** The secrets of the processes on this machine, as stored in `secrets.json`. */
export type Secrets = Static<typeof SecretsFile>;

function parseSecrets(text: string, path: string): Secrets {
  const unusable = (why: string) =>
    new StartError(
      `${path} is not usable (${why}). Restore it from a backup, because no API key in the database works without it.\n` +
        `To start over without any of the data, remove the folder it is in.`,
    );
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    throw unusable('it is not JSON');
  }
  if (Value.Check(SecretsFile, content)) return content;
  throw unusable(
    `${Value.Errors(SecretsFile, content).First()?.path ?? 'its content'} is missing or malformed`,
  );
}

/**
 * Reads the secrets of a data folder, or creates them on the first start. Secrets that a newer version needs are added.
 * @param hasDatabase whether the folder already has a database, which new secrets would not match
 * @param randomBytes a source of cryptographically random bytes
 * @throws StartError
 */
export async function readOrMakeSecrets(
  folder: string,
  hasDatabase: boolean,
  randomBytes: (size: number) => Buffer,
): Promise<Secrets> {
  const path = join(folder, 'secrets.json');
  const text = await readIfThere(path);
  if (text === undefined && hasDatabase)
    throw new StartError(
      `${path} is missing, but the database beside it needs its secrets. Restore it from a backup.\n` +
        `To start over without any of the data, remove the folder ${folder}.`,
    );
  const makeSecret = () => randomBytes(32).toString('base64url');
  const makeKey = () => randomBytes(32).toString('hex');
  const kept: Secrets =
    text === undefined
      ? {
          master_key: makeKey(),
          database_password: makeSecret(),
          nats_password: makeSecret(),
          wallet_callback_key: makeKey(),
          simulated_wallets: {},
          webhook_secret_key: makeKey(),
          service_tokens: {},
        }
      : parseSecrets(text, path);
  const missing = roles.filter((role) => kept.service_tokens[role] === undefined);
  const added = Object.fromEntries(missing.map((role) => [role, makeSecret()]));
  const makeUuid = () => uuidv4({ random: randomBytes(16) });
  const wallets = completeWalletSecrets(kept.simulated_wallets, makeSecret, makeUuid);
  const secrets = {
    ...kept,
    simulated_wallets: wallets.secrets,
    service_tokens: { ...kept.service_tokens, ...added },
  };
  if (missing.length === 0 && wallets.isComplete) return secrets;
  await writePrivateFile(path, `${JSON.stringify(secrets, undefined, 2)}\n`);
  return secrets;
}
