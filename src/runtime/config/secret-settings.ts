import { EnvError, makeExactValidator } from 'envalid';
import { parseServiceTokens } from '../rpc/service-tokens.ts';
import type { ServiceTokens } from '../rpc/service-tokens.ts';

export const masterKey = makeExactValidator<Buffer>((input) => {
  if (!/^[0-9a-f]{64}$/i.test(input)) {
    throw new EnvError('must be 64 hexadecimal digits; make one with: openssl rand -hex 32');
  }
  return Buffer.from(input, 'hex');
});

export const serviceTokens = makeExactValidator<ServiceTokens>((input) => {
  const tokens = parseServiceTokens(input);
  if (typeof tokens === 'string') throw new EnvError(tokens);
  return tokens;
});

/** A key and the name that what it encrypted remembers it by. */
export interface NamedKey {
  readonly name: string;
  readonly key: Buffer;
}

export const secretKeys = makeExactValidator<readonly [NamedKey, ...NamedKey[]]>((input) => {
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

/** What a wallet and its client share, as the simulator is told it. */
export interface SimulatorCredentials {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly apiKey: string;
}

export const simulatorCredentials = makeExactValidator<
  Readonly<Record<'walleta' | 'walletb', SimulatorCredentials>>
>((input) => {
  const all = parseJson(input);
  const read = (wallet: string): SimulatorCredentials => {
    const [clientId, clientSecret, apiKey] = ['client_id', 'client_secret', 'api_key'].map((name) =>
      textAt(all, wallet, name),
    );
    if (clientId === undefined || clientSecret === undefined || apiKey === undefined) {
      throw new EnvError(
        'must be JSON with credentials for both wallets: ' +
          '{"walleta":{"client_id":"…","client_secret":"…","api_key":"…"},"walletb":{…}}',
      );
    }
    return { clientId, clientSecret, apiKey };
  };
  return { walleta: read('walleta'), walletb: read('walletb') };
});

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The text at a path of own properties, or undefined when there is none, or an empty one. */
function textAt(value: unknown, ...path: readonly string[]): string | undefined {
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = Object.getOwnPropertyDescriptor(value, name)?.value;
  }
  return typeof value === 'string' && value !== '' ? value : undefined;
}
