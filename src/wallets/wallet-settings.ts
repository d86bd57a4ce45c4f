import { isIP } from 'node:net';
import { Type } from '@sinclair/typebox';
import type { Static } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { wallets } from '../contract/payment-options.ts';
import type { WalletName } from '../contract/payment-options.ts';
import { SettingsError } from '../platform/settings/read-settings.ts';
import { isNetwork } from '../platform/settings/address-settings.ts';

const text = Type.String({ minLength: 1 });

const walletSettings = Type.Object(
  {
    wallet: Type.Unsafe<WalletName>(Type.Union(wallets.map(({ name }) => Type.Literal(name)))),
    environment: Type.Union([Type.Literal('sandbox'), Type.Literal('production')]),
    base_url: Type.String({ pattern: '^https?://' }),
    token_path: Type.Optional(text),
    client_id: text,
    client_secret: text,
    api_key: text,
    payee: Type.Object({ type: text, id: text }, { additionalProperties: false }),
    currencies: Type.Array(Type.String({ pattern: '^[A-Z]{3}$' }), { minItems: 1 }),
    callback_sources: Type.Optional(Type.Array(text)),
    // Unguessable, and valid in a header.
    callback_api_key: Type.Optional(Type.String({ pattern: '^[\\x21-\\x7e]{16,256}$' })),
    max_in_flight: Type.Optional(Type.Integer({ minimum: 1, maximum: 500 })),
    // Below the time limit of all calls under one lease.
    call_timeout_ms: Type.Optional(Type.Integer({ minimum: 100, maximum: 30_000 })),
  },
  { additionalProperties: false },
);

/** One wallet in one environment: its address, our credentials and its limits. */
export type WalletSettings = Static<typeof walletSettings>;

const list = Type.Array(walletSettings);

/**
 * Parses GATEHOUSE_WALLETS, a JSON array with an object for each wallet and environment.
 * @throws SettingsError that names the invalid field, never its value, which may be a secret.
 */
export function parseWalletSettings(json: string): readonly WalletSettings[] {
  const value = parseJson(json);
  const [problem] = [...Value.Errors(list, value)];
  if (problem !== undefined)
    throw new SettingsError(`GATEHOUSE_WALLETS ${problem.path || '/'}: ${problem.message}`);
  const wallets = Value.Decode(list, value);
  const names = wallets.map(({ wallet, environment }) => `${wallet}-${environment}`);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new SettingsError(`GATEHOUSE_WALLETS names ${twice} twice`);
  for (const [index, { base_url: baseUrl, callback_sources: sources = [] }] of wallets.entries()) {
    if (!URL.canParse(baseUrl))
      throw new SettingsError(`GATEHOUSE_WALLETS /${index}/base_url: must be a URL`);
    const unreadable = sources.findIndex((source) => !isAddressOrNetwork(source));
    if (unreadable === -1) continue;
    throw new SettingsError(
      `GATEHOUSE_WALLETS /${index}/callback_sources/${unreadable}: must be an IP address or a network such as 10.0.0.0/8`,
    );
  }
  return wallets;
}

const isAddressOrNetwork = (source: string): boolean => isIP(source) !== 0 || isNetwork(source);

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw new SettingsError('GATEHOUSE_WALLETS must be a JSON array with an object for each wallet');
  }
}
