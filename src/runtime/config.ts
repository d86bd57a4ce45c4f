import { isIP } from 'node:net';
import { EnvError, EnvMissingError, bool, cleanEnv, makeExactValidator, str } from 'envalid';
import type { CleanedEnv } from 'envalid';
import type { ServiceTokens } from './rpc/service-tokens.ts';
import { parseServiceTokens } from './rpc/service-tokens.ts';

/** A process's environment, handed in by its composition root. */
export type ProcessEnvironment = Readonly<Record<string, string | undefined>>;

/** One or more settings are missing or not usable. The message names each of them and what it takes. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

const port = makeExactValidator<number>((input) => {
  if (!/^[0-9]{1,5}$/.test(input) || Number(input) > 65535) {
    throw new EnvError('must be a port from 0 to 65535 (0 takes any free one)');
  }
  return Number(input);
});

const wholeNumber = makeExactValidator<number>((input) => {
  if (!/^[0-9]{1,9}$/.test(input)) throw new EnvError('must be a whole number, 0 or more');
  return Number(input);
});

const poolSize = makeExactValidator<number>((input) => {
  if (!/^[1-9][0-9]{0,3}$/.test(input)) throw new EnvError('must be a whole number from 1 to 9999');
  return Number(input);
});

/** Four tasks of a webhooks process keep a connection each, for the lock that says that it is theirs. */
const webhooksPoolSize = makeExactValidator<number>((input) => {
  if (!/^[0-9]{1,4}$/.test(input) || Number(input) < 6)
    throw new EnvError('must be a whole number from 6 to 9999');
  return Number(input);
});

const masterKey = makeExactValidator<Buffer>((input) => {
  if (!/^[0-9a-f]{64}$/i.test(input)) {
    throw new EnvError('must be 64 hexadecimal digits; make one with: openssl rand -hex 32');
  }
  return Buffer.from(input, 'hex');
});

const addressForm = /^(?:dns:\/\/\/)?(\[[0-9a-f:]+\]|[^\s,:/[\]]+):([1-9][0-9]{0,4})$/i;

/** What a list of addresses can hold, since names are resolved one target at a time: see rpc/grpc-transport.ts. */
function familyOf(host: string): 4 | 6 | 'name' {
  if (host === 'localhost' || isIP(host) === 4) return 4;
  return host.startsWith('[') ? 6 : 'name';
}

const addresses = makeExactValidator<readonly string[]>((input) => {
  const list = input.split(',').map((address) => address.trim());
  const families = new Set<ReturnType<typeof familyOf>>();
  for (const address of list) {
    const [, host = '', port = '0'] = addressForm.exec(address) ?? [];
    if (host === '' || Number(port) > 65535) {
      throw new EnvError('must be host:port, or several of them with commas between');
    }
    families.add(familyOf(host));
  }
  if (list.length > 1 && (families.size > 1 || families.has('name'))) {
    throw new EnvError(
      'may list several addresses only as IPv4:port, or only as [IPv6]:port; for machines with names, give one ' +
        'name that DNS resolves to all of them, such as dns:///core:50051',
    );
  }
  return list;
});

const currencies = makeExactValidator<readonly string[]>((input) => {
  const list = input.split(',').map((code) => code.trim());
  if (!list.every((code) => /^[A-Z]{3}$/.test(code))) {
    throw new EnvError('must be ISO 4217 codes with commas between, such as ETB,USD');
  }
  return list;
});

const networks = makeExactValidator<readonly string[]>((input) => {
  const list = input.split(',').map((network) => network.trim());
  if (!list.every((network) => isIP(network) !== 0 || isNetwork(network))) {
    throw new EnvError('must be IP addresses or networks such as 10.0.0.0/8, with commas between');
  }
  return list;
});

/** Whether a text is an IP address and the number of leading bits that count, such as 10.0.0.0/8. */
export function isNetwork(text: string): boolean {
  const [address = '', bits = '', ...rest] = text.split('/');
  const version = isIP(address);
  return (
    version !== 0 &&
    rest.length === 0 &&
    /^[0-9]{1,3}$/.test(bits) &&
    Number(bits) <= (version === 4 ? 32 : 128)
  );
}

/** Payment options as merchants write them. */
const allOptionNames = ['walleta_ussd', 'walletb_ussd', 'walleta_wallet'] as const;
export type PaymentOptionName = (typeof allOptionNames)[number];

const optionNames = makeExactValidator<readonly PaymentOptionName[]>((input) => {
  const given = input.split(',').map((name) => name.trim());
  if (given.join() === 'none') return [];
  const known = allOptionNames.filter((name) => given.includes(name));
  if (known.length < given.length) {
    throw new EnvError(`must be none, or some of ${allOptionNames.join(', ')} with commas between`);
  }
  return known;
});

const serviceTokens = makeExactValidator<ServiceTokens>((input) => {
  const tokens = parseServiceTokens(input);
  if (typeof tokens === 'string') throw new EnvError(tokens);
  return tokens;
});

/** A key and the name that what it encrypted remembers it by. */
export interface NamedKey {
  readonly name: string;
  readonly key: Buffer;
}

const secretKeys = makeExactValidator<readonly [NamedKey, ...NamedKey[]]>((input) => {
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

/** Longer than the 76 hours that a delivery may be on its way. */
const retentionDays = makeExactValidator<number>((input) => {
  if (!/^[0-9]{1,5}$/.test(input) || Number(input) < 7)
    throw new EnvError('must be a number of days, 7 or more');
  return Number(input);
});

/** What a wallet and its client share, as the simulator is told it. */
export interface SimulatorCredentials {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly apiKey: string;
}

const simulatorCredentials = makeExactValidator<
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

const timeScale = makeExactValidator<number>((input) => {
  const scale = /^[0-9]{1,4}([.][0-9]{1,6})?$/.test(input) ? Number(input) : 0;
  if (scale > 0) return scale;
  throw new EnvError(
    'must be a number above 0 that delays are multiplied by, such as 0.1 for ten times as fast',
  );
});

const url = (protocols: readonly string[]) =>
  makeExactValidator<string>((input) => {
    const expected = protocols.map((protocol) => `${protocol}//`).join(' or ');
    if (!URL.canParse(input) || !protocols.some((protocol) => input.startsWith(`${protocol}//`))) {
      throw new EnvError(`must be a URL starting with ${expected}`);
    }
    return input.replace(/\/+$/, '');
  });

/** The pages' cookies are for the whole of a host, so that a path before them cannot be. */
const origin = makeExactValidator<string>((input) => {
  const parsed = URL.canParse(input) ? new URL(input) : undefined;
  const isOrigin = parsed?.origin === input.replace(/\/$/, '');
  if (!isOrigin || !/^https?:$/.test(parsed.protocol))
    throw new EnvError('must be https://<host> or http://<host>, with a port or without, and without a path');
  return parsed.origin;
});

const timeZone = makeExactValidator<string>((input) => {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: input }).resolvedOptions().timeZone;
  } catch {
    throw new EnvError('must be the name of a time zone such as Africa/Addis_Ababa or UTC');
  }
});

const databaseUrl = url(['postgres:', 'postgresql:']);
const natsUrl = url(['nats:', 'tls:']);
const httpUrl = url(['http:', 'https:']);
const smtpUrl = url(['smtp:', 'smtps:']);

const process = {
  GATEHOUSE_HOST: str({ default: '127.0.0.1' }),
  GATEHOUSE_LOG_LEVEL: str({
    choices: ['fatal', 'error', 'warn', 'info', 'debug', 'trace'],
    default: 'info',
  }),
  GATEHOUSE_INSTANCE: str({ default: undefined }),
};

const core = {
  ...process,
  GATEHOUSE_CORE_GRPC_PORT: port({ default: 50051 }),
  GATEHOUSE_CORE_CONNECT_PORT: port({ default: 50052 }),
  GATEHOUSE_DATABASE_URL: databaseUrl({
    desc: 'where PostgreSQL is',
    example: 'postgres://gatehouse:<password>@127.0.0.1:5432/gatehouse',
  }),
  GATEHOUSE_NATS_URL: natsUrl({ desc: 'where NATS with JetStream is', example: 'nats://127.0.0.1:4222' }),
  GATEHOUSE_MASTER_KEY: masterKey({
    desc: '64 hexadecimal digits, the same for every core; made with openssl rand -hex 32',
  }),
  GATEHOUSE_SERVICE_TOKENS: serviceTokens({
    desc: 'who may call, as role:token,role:token; tokens are made with openssl rand -hex 32',
  }),
  GATEHOUSE_CHECKOUT_BASE_URL: httpUrl({ default: 'http://127.0.0.1:8082' }),
  GATEHOUSE_CURRENCIES: currencies({ default: ['ETB', 'USD'] }),
  GATEHOUSE_PAYMENT_OPTIONS_SANDBOX: optionNames({ default: allOptionNames }),
  // No wallet is there for real money until an operator says so.
  GATEHOUSE_PAYMENT_OPTIONS_PRODUCTION: optionNames({ default: [] }),
  GATEHOUSE_PHONE_PROMPTS_PER_10_MINUTES: wholeNumber({ default: 5 }),
  GATEHOUSE_DATABASE_POOL_SIZE: poolSize({ default: 12 }),
};

const client = {
  GATEHOUSE_CORE_ADDRESSES: addresses({ default: ['127.0.0.1:50051'] }),
  GATEHOUSE_SERVICE_TOKEN: str({
    desc: "the token among core's GATEHOUSE_SERVICE_TOKENS that this process calls with",
  }),
};

const restFacade = {
  ...process,
  ...client,
  GATEHOUSE_REST_PRODUCTION_PORT: port({ default: 8080 }),
  GATEHOUSE_REST_SANDBOX_PORT: port({ default: 8081 }),
  GATEHOUSE_RATE_LIMIT_PER_KEY: wholeNumber({ default: 1000 }),
  // Two a second: a misconfigured client stays under it, and nobody finds a 256-bit key at that pace.
  GATEHOUSE_RATE_LIMIT_FAILED_KEYS: wholeNumber({ default: 120 }),
  GATEHOUSE_REST_PRODUCTION_URL: httpUrl({ default: undefined }),
  GATEHOUSE_REST_SANDBOX_URL: httpUrl({ default: undefined }),
  GATEHOUSE_TRUSTED_PROXIES: networks({ default: undefined }),
};

const walletSimulator = {
  ...process,
  GATEHOUSE_SIMULATOR_PORT: port({ default: 8090 }),
  GATEHOUSE_SIMULATOR_CREDENTIALS: simulatorCredentials({
    desc: 'JSON with the credentials of both wallets',
  }),
  GATEHOUSE_SIMULATOR_INTERACTIVE: bool({ default: false }),
  GATEHOUSE_SIMULATOR_TIME_SCALE: timeScale({ default: 1 }),
  GATEHOUSE_SIMULATOR_JOURNAL_DIR: str({ default: undefined }),
};

const checkout = {
  ...process,
  ...client,
  GATEHOUSE_CHECKOUT_PORT: port({ default: 8082 }),
  GATEHOUSE_CHECKOUT_BASE_URL: httpUrl({ default: undefined }),
  GATEHOUSE_TRUSTED_PROXIES: networks({ default: undefined }),
};

const dashboard = {
  ...process,
  ...client,
  GATEHOUSE_WEBHOOKS_ADDRESSES: addresses({ default: ['127.0.0.1:50053'] }),
  GATEHOUSE_DASHBOARD_PORT: port({ default: 8083 }),
  GATEHOUSE_DASHBOARD_BASE_URL: origin({ default: undefined }),
  GATEHOUSE_TIME_ZONE: timeZone({ default: 'Africa/Addis_Ababa' }),
  GATEHOUSE_REST_PRODUCTION_URL: httpUrl({ default: 'http://127.0.0.1:8080' }),
  GATEHOUSE_REST_SANDBOX_URL: httpUrl({ default: 'http://127.0.0.1:8081' }),
  GATEHOUSE_SMTP_URL: smtpUrl({ default: undefined }),
  GATEHOUSE_MAIL_FROM: str({ default: undefined }),
  GATEHOUSE_TRUSTED_PROXIES: networks({ default: undefined }),
};

const wallets = {
  ...process,
  ...client,
  GATEHOUSE_NATS_URL: natsUrl({ desc: 'where NATS with JetStream is', example: 'nats://127.0.0.1:4222' }),
  GATEHOUSE_WALLET_CALLBACK_PORT: port({ default: 8084 }),
  GATEHOUSE_WALLET_CALLBACK_BASE_URL: httpUrl({ default: undefined }),
  GATEHOUSE_WALLET_CALLBACK_KEY: masterKey({
    desc: '64 hexadecimal digits, the same for every wallets process; made with openssl rand -hex 32',
  }),
  GATEHOUSE_WALLETS: str({
    desc: 'JSON with an object for each wallet; docs/operating/wallets.md has an example',
  }),
  GATEHOUSE_TRUSTED_PROXIES: networks({ default: undefined }),
};

const webhooks = {
  ...process,
  ...client,
  GATEHOUSE_WEBHOOKS_GRPC_PORT: port({ default: 50053 }),
  GATEHOUSE_WEBHOOKS_CONNECT_PORT: port({ default: 50054 }),
  GATEHOUSE_DATABASE_URL: databaseUrl({
    desc: "where PostgreSQL is; core's own, or another",
    example: 'postgres://gatehouse:<password>@127.0.0.1:5432/gatehouse',
  }),
  GATEHOUSE_DATABASE_POOL_SIZE: webhooksPoolSize({ default: 12 }),
  GATEHOUSE_NATS_URL: natsUrl({ desc: 'where NATS with JetStream is', example: 'nats://127.0.0.1:4222' }),
  GATEHOUSE_SERVICE_TOKENS: serviceTokens({
    desc: 'who may call, as role:token,role:token; tokens are made with openssl rand -hex 32',
  }),
  GATEHOUSE_WEBHOOK_SECRET_KEYS: secretKeys({
    desc: 'what signing secrets are encrypted with at rest, as name:key,name:key; keys are made with openssl rand -hex 32',
  }),
  // Nothing but public addresses, until an operator says so; and never for real money.
  GATEHOUSE_WEBHOOK_SANDBOX_NETWORKS: networks({ default: [] }),
  GATEHOUSE_WEBHOOK_MAX_IN_FLIGHT: poolSize({ default: 256 }),
  GATEHOUSE_WEBHOOK_RETENTION_DAYS: retentionDays({ default: 90 }),
};

const cli = {
  GATEHOUSE_CORE_ADDRESSES: addresses({ default: undefined }),
  GATEHOUSE_WEBHOOKS_ADDRESSES: addresses({ default: undefined }),
  GATEHOUSE_DASHBOARD_BASE_URL: origin({ default: undefined }),
  GATEHOUSE_SERVICE_TOKEN: str({ default: undefined }),
  GATEHOUSE_DATA_DIR: str({ default: '.gatehouse' }),
};

const local = {
  ...process,
  GATEHOUSE_DATA_DIR: str({ default: '.gatehouse' }),
  GATEHOUSE_DATABASE_URL: databaseUrl({ default: undefined }),
  GATEHOUSE_NATS_URL: natsUrl({ default: undefined }),
  GATEHOUSE_REST_PRODUCTION_PORT: port({ default: 8080 }),
  GATEHOUSE_REST_SANDBOX_PORT: port({ default: 8081 }),
  GATEHOUSE_CHECKOUT_PORT: port({ default: 8082 }),
  GATEHOUSE_DASHBOARD_PORT: port({ default: 8083 }),
  GATEHOUSE_WALLET_CALLBACK_PORT: port({ default: 8084 }),
  GATEHOUSE_SIMULATOR_PORT: port({ default: 8090 }),
  GATEHOUSE_CORE_GRPC_PORT: port({ default: 50051 }),
  GATEHOUSE_CORE_CONNECT_PORT: port({ default: 50052 }),
  GATEHOUSE_WEBHOOKS_GRPC_PORT: port({ default: 50053 }),
  GATEHOUSE_WEBHOOKS_CONNECT_PORT: port({ default: 50054 }),
  GATEHOUSE_POSTGRES_PORT: port({ default: 5433 }),
  GATEHOUSE_NATS_PORT: port({ default: 4222 }),
};

/**
 * Checks all of a process's settings at once. An empty value counts as not set: that is what `NAME=` in an .env file
 * and an unset variable in docker compose come to.
 * @throws ConfigError
 */
function read<S>(environment: ProcessEnvironment, specs: S): CleanedEnv<S> {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  return cleanEnv(given, specs, {
    reporter: ({ errors }) => {
      const problems = Object.entries(errors).map(([name, error]) =>
        error instanceof EnvMissingError
          ? `${name} is not set: ${error.message}`
          : `${name} ${error instanceof Error ? error.message : 'is not usable'}`,
      );
      if (problems.length > 0) throw new ConfigError(problems.join('\n'));
    },
  });
}

/** Settings of the `core` process. @throws ConfigError */
export const readCoreConfig = (environment: ProcessEnvironment) => read(environment, core);

/** Settings of the `rest-facade` process. @throws ConfigError */
export const readRestFacadeConfig = (environment: ProcessEnvironment) => read(environment, restFacade);

/** Settings of the `wallet-simulator` process. @throws ConfigError */
export const readWalletSimulatorConfig = (environment: ProcessEnvironment) =>
  read(environment, walletSimulator);

/** Settings of the `checkout` process. @throws ConfigError */
export const readCheckoutConfig = (environment: ProcessEnvironment) => read(environment, checkout);

/** Settings of the `dashboard` process. @throws ConfigError */
export const readDashboardConfig = (environment: ProcessEnvironment) => {
  const settings = read(environment, dashboard);
  if (settings.GATEHOUSE_SMTP_URL !== undefined && settings.GATEHOUSE_MAIL_FROM === undefined)
    throw new ConfigError(
      'GATEHOUSE_MAIL_FROM is not set: the address that the mails of GATEHOUSE_SMTP_URL come from',
    );
  return settings;
};

/** Settings of the `wallets` process. @throws ConfigError */
export const readWalletsConfig = (environment: ProcessEnvironment) => read(environment, wallets);

/** Settings of the `webhooks` process. @throws ConfigError */
export const readWebhooksConfig = (environment: ProcessEnvironment) => read(environment, webhooks);

/** Settings of the command line client. @throws ConfigError */
export const readCliConfig = (environment: ProcessEnvironment) => read(environment, cli);
export type CliConfig = ReturnType<typeof readCliConfig>;

/** Settings of the one command that runs everything on this machine. @throws ConfigError */
export const readLocalConfig = (environment: ProcessEnvironment) => read(environment, local);
export type LocalConfig = ReturnType<typeof readLocalConfig>;
