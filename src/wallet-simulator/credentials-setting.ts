import { Value } from '@sinclair/typebox/value';
import { EnvError, makeExactValidator } from 'envalid';
import { isProtocol, protocols } from './protocols.ts';
import type { ProtocolName } from './protocols.ts';
import { parseJson } from '../platform/parse-json.ts';

/** One wallet of the simulator's setting. */
export interface WalletSetting {
  readonly id: string;
  readonly protocol: ProtocolName;
  readonly basePath: string;
  /** Valid for the protocol. */
  readonly credentials: unknown;
}

const example =
  '{"walleta":{"client_id":"…","client_secret":"…","api_key":"…"},"mtn":{"protocol":"mtn-momo",…}}';

const refuse = (problem: string): EnvError =>
  new EnvError(`must be JSON with credentials by wallet, such as ${example}: ${problem}`);

/**
 * Wallets by id, each with the credentials of its protocol. `protocol` is gsma unless it says otherwise, and `base_path`
 * is the id. Errors name the field and never its value, which may be a secret.
 */
export const simulatedWallets = makeExactValidator<readonly WalletSetting[]>((input) => {
  const wallets = parseObject(input);
  if (wallets === undefined || Object.keys(wallets).length === 0) throw refuse('there is no wallet');
  return Object.entries(wallets).map(([id, value]) => {
    if (!/^[a-z][a-z0-9]{1,30}$/.test(id))
      throw refuse(`the id ${id} must be 2 to 31 lower-case letters and digits, and begin with a letter`);
    if (!isObject(value)) throw refuse(`${id} must be an object`);
    const { protocol = 'gsma', base_path: basePath = `/${id}`, ...credentials } = value;
    if (typeof protocol !== 'string' || !isProtocol(protocol)) {
      throw refuse(`${id}.protocol must be one of ${Object.keys(protocols).join(', ')}`);
    }
    if (typeof basePath !== 'string') throw refuse(`${id}.base_path must be a path`);
    const wrong = Value.Errors(protocols[protocol].credentials, credentials).First();
    if (wrong !== undefined) throw refuse(`${id}${wrong.path.replaceAll('/', '.')}: ${wrong.message}`);
    return { id, protocol, basePath, credentials };
  });
});

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  const value = parseJson(text);
  return isObject(value) ? value : undefined;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
