import { EnvError, makeExactValidator } from 'envalid';

/** A key and the name that is stored with the secrets it encrypted. */
export interface NamedKey {
  readonly name: string;
  readonly key: Buffer;
}

/** Stands in the list for a key that the process derives itself. */
export interface DerivedKey {
  readonly name: string;
  readonly key: undefined;
}

type Keys<Key> = readonly [Key, ...Key[]];

function readKey(entry: string): NamedKey {
  const [, name = '', digits = ''] = /^([a-z0-9-]{1,32}):([0-9a-f]{64})$/i.exec(entry) ?? [];
  if (name === '') {
    throw new EnvError(
      'must be name:key entries separated by commas: a name of letters, digits and hyphens, and 64 hexadecimal digits ' +
        '(make them with: openssl rand -hex 32). The first key encrypts; the others only decrypt older data',
    );
  }
  return { name, key: Buffer.from(digits, 'hex') };
}

function readKeys<Key extends NamedKey | DerivedKey>(input: string, read: (entry: string) => Key): Keys<Key> {
  const keys = input.split(',').map((entry) => read(entry.trim()));
  if (new Set(keys.map(({ name }) => name)).size < keys.length) {
    throw new EnvError(
      'has two keys of the same name; encrypted data names its key, so each name must be unique',
    );
  }
  const [first, ...others] = keys;
  if (first === undefined) throw new EnvError('must hold at least one name:key');
  return [first, ...others];
}

export const namedKeys = makeExactValidator<Keys<NamedKey>>((input) => readKeys(input, readKey));

/** Named keys as above, in which `name` without a key stands for a key that the process derives. */
export const namedKeysOrDerived = (name: string) =>
  makeExactValidator<Keys<NamedKey | DerivedKey>>((input) =>
    readKeys<NamedKey | DerivedKey>(input, (entry) =>
      entry === name ? { name, key: undefined } : readKey(entry),
    ),
  );
