import { join } from 'node:path';
import { Type } from '@sinclair/typebox';
import type { Static } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { roles } from '../../runtime/rpc/service-tokens.ts';
import { readIfThere, writePrivateFile } from './private-file.ts';
import { StartError } from './start-error.ts';

const Secret = Type.String({ minLength: 24 });
const SecretsFile = Type.Object({
  /** Pepper of key hashes and tokens: without it every API key in the database is dead. */
  master_key: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  database_password: Secret,
  nats_password: Secret,
  service_tokens: Type.Record(Type.String(), Secret),
});
/** What the processes of this machine prove themselves with, as kept in `secrets.json`. */
export type Secrets = Static<typeof SecretsFile>;

function parse(text: string, path: string): Secrets {
  const unusable = (why: string) =>
    new StartError(
      `${path} is not usable (${why}). Put it back from a backup: without it no API key in the database works.\n` +
        `To begin again without any of the data, remove the folder it is in.`,
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
 * Reads the secrets of a data folder, or makes them on the first start. A role that came with a newer Gatehouse gets
 * its token added.
 * @param hasDatabase whether the folder already has a database, which new secrets would not open
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
      `${path} is missing, but there is a database beside it that only its secrets open. Put it back from a backup.\n` +
        `To begin again without any of the data, remove the folder ${folder}.`,
    );
  const makeSecret = () => randomBytes(32).toString('base64url');
  const kept: Secrets =
    text === undefined
      ? {
          master_key: randomBytes(32).toString('hex'),
          database_password: makeSecret(),
          nats_password: makeSecret(),
          service_tokens: {},
        }
      : parse(text, path);
  const missing = roles.filter((role) => kept.service_tokens[role] === undefined);
  if (missing.length === 0) return kept;
  const added = Object.fromEntries(missing.map((role) => [role, makeSecret()]));
  const secrets = { ...kept, service_tokens: { ...kept.service_tokens, ...added } };
  await writePrivateFile(path, `${JSON.stringify(secrets, undefined, 2)}\n`);
  return secrets;
}
