import { EnvError, makeExactValidator } from 'envalid';

/** A key and the name that is stored with the secrets it encrypted. */
export interface NamedKey {
  readonly name: string;
  readonly key: Buffer;
}

export const namedKeys = makeExactValidator<readonly [NamedKey, ...NamedKey[]]>((input) => {
  const keys = input.split(',').map((entry): NamedKey => {
    const [, name = '', digits = ''] = /^([a-z0-9-]{1,32}):([0-9a-f]{64})$/i.exec(entry.trim()) ?? [];
    if (name === '') {
      throw new EnvError(
        'must be name:key with commas between: a name of letters, digits and hyphens, and 64 hexadecimal digits ' +
          '(make them with: openssl rand -hex 32). The first encrypts; the others only decrypt what they encrypted before',
      );
    }
    return { name, key: Buffer.from(digits, 'hex') };
  });
  if (new Set(keys.map(({ name }) => name)).size < keys.length) {
    throw new EnvError('has two keys of the same name; what was encrypted remembers its key by name');
  }
  const [first, ...others] = keys;
  if (first === undefined) throw new EnvError('must hold at least one name:key');
  return [first, ...others];
});
