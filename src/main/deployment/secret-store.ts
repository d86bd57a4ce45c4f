import { roles } from '../../contract/roles.ts';
import { SettingsError } from '../../platform/settings/read-settings.ts';
import type { ProcessEnvironment } from '../../platform/settings/read-settings.ts';
import { readSettingText } from '../../platform/settings/setting-text.ts';

/** The secrets that the processes share, by name. */
export type SecretStore = Readonly<Record<string, string>>;

const natsPasswords = ['CORE', 'WEBHOOKS', 'WALLETS', 'SANDBOX_READER', 'SHOP_READER'].map(
  (user) => `NATS_${user}_PASSWORD`,
);
const tokens = roles.map((role) => `${role.toUpperCase()}_TOKEN`);
const names: readonly string[] = [
  'POSTGRES_PASSWORD',
  ...natsPasswords,
  'GATEHOUSE_MASTER_KEY',
  'GATEHOUSE_WALLET_CALLBACK_KEY',
  'WEBHOOK_SECRET_KEY',
  ...tokens,
  'SIMULATOR_SECRET',
];
const keys: readonly string[] = [
  'GATEHOUSE_MASTER_KEY',
  'GATEHOUSE_WALLET_CALLBACK_KEY',
  'WEBHOOK_SECRET_KEY',
];

/** The form of a secret that its processes can read within a URL or a list. `rule` is the end of an error message. */
function formOf(name: string): { readonly pattern: RegExp; readonly rule: string } {
  const make = 'make one with: openssl rand -hex 32';
  if (keys.includes(name))
    return { pattern: /^[0-9a-f]{64}$/i, rule: `must be 64 hexadecimal digits; ${make}` };
  if (tokens.includes(name))
    return { pattern: /^[\w.~-]{24,256}$/, rule: `must be 24 to 256 letters, digits and . _ ~ -; ${make}` };
  // nats-server parses a password as configuration, in which some texts that begin with a digit are numbers.
  if (natsPasswords.includes(name))
    return {
      pattern: /^[a-z][\w.~-]{7,255}$/i,
      rule: 'must be 8 to 256 letters, digits and . _ ~ -, and begin with a letter; make one with: echo "n$(openssl rand -hex 32)"',
    };
  return { pattern: /^[\w.~-]{8,256}$/, rule: `must be 8 to 256 letters, digits and . _ ~ -; ${make}` };
}

/**
 * All secrets of a deployment: those of an earlier start, else those that the environment sets, else new ones.
 * @param randomBytes a source of cryptographically random bytes
 * @throws SettingsError for a secret that its processes could not read, for a token of two roles, and for a secret of the environment that
 * differs from that of an earlier start
 */
export function completeSecrets(
  kept: SecretStore,
  environment: ProcessEnvironment,
  randomBytes: (size: number) => Buffer,
): SecretStore {
  const differing = new Set<string>();
  const secrets = Object.fromEntries(
    names.map((name) => {
      const given = readSettingText(environment, name);
      if ('problem' in given) throw new SettingsError(`${name} is not set: ${given.problem}`);
      const { pattern, rule } = formOf(name);
      if (given.text !== undefined && !pattern.test(given.text)) throw new SettingsError(`${name} ${rule}`);
      if (kept[name] !== undefined && !pattern.test(kept[name]))
        throw new SettingsError(`${name} in secrets.json ${rule}`);
      if (given.text !== undefined && given.text !== (kept[name] ?? given.text)) differing.add(name);
      const digits = randomBytes(32).toString('hex');
      return [name, kept[name] ?? given.text ?? (natsPasswords.includes(name) ? `n${digits}` : digits)];
    }),
  );
  if (differing.size > 0)
    throw new SettingsError(
      `secrets.json has another value than the environment (.env) for ${[...differing].join(', ')}. Remove it from .env, so that the value in secrets.json counts, or write the value of .env into secrets.json`,
    );
  const roleOfToken = new Map<string | undefined, string>();
  for (const name of tokens) {
    const other = roleOfToken.get(secrets[name]);
    if (other !== undefined)
      throw new SettingsError(
        `${other} and ${name} are the same, and each role needs a token of its own; make one with: openssl rand -hex 32`,
      );
    roleOfToken.set(secrets[name], name);
  }
  return secrets;
}

/**
 * Refuses a list of keys without the key that encrypted the signing secrets until now: the first of `current`.
 * @throws SettingsError
 */
export function requireKeyOfSecrets(
  path: string,
  current: string | undefined,
  next: string | undefined,
): void {
  const keysOf = (list = ''): string[] => list.split(',').map((entry) => entry.trim());
  const [key = ''] = keysOf(current);
  if (key !== '' && next !== undefined && !keysOf(next).includes(key))
    throw new SettingsError(
      `${path} encrypts signing secrets with a key that secrets.json lacks. Write the content of that file into secrets.json as WEBHOOK_SECRET_KEYS, or delete the file if no signing secret was made with its key`,
    );
}

/**
 * Refuses another master key than the processes have, because the file of core can be its only copy.
 * @throws SettingsError
 */
export function requireSameMasterKey(
  path: string,
  current: string | undefined,
  next: string | undefined,
): void {
  if (current !== undefined && current !== next)
    throw new SettingsError(
      `${path} has another master key than secrets.json. The key of a database can never change. Write the content of that file into secrets.json as GATEHOUSE_MASTER_KEY, or delete the file if its database is gone`,
    );
}

/** A server that the processes share, as the URLs in their files name it. */
export interface SharedServer {
  /** host:port */
  readonly address: string;
  /** Whether the processes connect with TLS only, and check the server's name. */
  readonly hasTls: boolean;
}

/** For each process, the files that it reads: their names are those of its settings. No process can read another's. */
export function filesOfProcesses(
  secrets: SecretStore,
  { database, nats }: { readonly database: SharedServer; readonly nats: SharedServer },
): Readonly<Record<string, Readonly<Record<string, string>>>> {
  const secret = (name: string): string => secrets[name] ?? '';
  const tokenOf = (role: string): string => secret(`${role.toUpperCase()}_TOKEN`);
  const callers = (accepted: readonly string[]): string =>
    accepted.map((role) => `${role}:${tokenOf(role)}`).join(',');
  const sslmode = database.hasTls ? '?sslmode=verify-full' : '';
  const databaseUrl = `postgres://gatehouse:${secret('POSTGRES_PASSWORD')}@${database.address}/gatehouse${sslmode}`;
  const natsUrl = (user: string): string =>
    `${nats.hasTls ? 'tls' : 'nats'}://${user}:${secret(`NATS_${user.toUpperCase()}_PASSWORD`)}@${nats.address}`;
  const simulated = {
    client_id: 'gatehouse',
    client_secret: secret('SIMULATOR_SECRET'),
    api_key: secret('SIMULATOR_SECRET'),
  };
  return {
    postgres: { POSTGRES_PASSWORD: secret('POSTGRES_PASSWORD') },
    // A shell or systemd reads it into nats-server's environment.
    nats: { 'passwords.env': natsPasswords.map((name) => `${name}=${secret(name)}\n`).join('') },
    core: {
      GATEHOUSE_DATABASE_URL: databaseUrl,
      GATEHOUSE_NATS_URL: natsUrl('core'),
      GATEHOUSE_MASTER_KEY: secret('GATEHOUSE_MASTER_KEY'),
      GATEHOUSE_SERVICE_TOKENS: callers(roles),
      // For the command line.
      GATEHOUSE_SERVICE_TOKEN: tokenOf('operator'),
    },
    'rest-facade': { GATEHOUSE_SERVICE_TOKEN: tokenOf('facade') },
    checkout: { GATEHOUSE_SERVICE_TOKEN: tokenOf('checkout') },
    dashboard: { GATEHOUSE_SERVICE_TOKEN: tokenOf('dashboard') },
    wallets: {
      GATEHOUSE_SERVICE_TOKEN: tokenOf('wallets'),
      GATEHOUSE_NATS_URL: natsUrl('wallets'),
      GATEHOUSE_WALLET_CALLBACK_KEY: secret('GATEHOUSE_WALLET_CALLBACK_KEY'),
      SIMULATOR_SECRET: secret('SIMULATOR_SECRET'),
    },
    webhooks: {
      GATEHOUSE_SERVICE_TOKEN: tokenOf('webhooks'),
      GATEHOUSE_SERVICE_TOKENS: callers(['facade', 'dashboard', 'operator', 'reader']),
      GATEHOUSE_DATABASE_URL: databaseUrl,
      GATEHOUSE_NATS_URL: natsUrl('webhooks'),
      // secrets.json has the list only while and after the key is replaced: docs/operating/webhooks.md
      GATEHOUSE_WEBHOOK_SECRET_KEYS:
        secrets['WEBHOOK_SECRET_KEYS'] ?? `first:${secret('WEBHOOK_SECRET_KEY')}`,
    },
    'wallet-simulator': {
      GATEHOUSE_SIMULATOR_CREDENTIALS: JSON.stringify({ walleta: simulated, walletb: simulated }),
    },
    'first-start': {
      OPERATOR_TOKEN: tokenOf('operator'),
      FACADE_TOKEN: tokenOf('facade'),
      DASHBOARD_TOKEN: tokenOf('dashboard'),
    },
  };
}
