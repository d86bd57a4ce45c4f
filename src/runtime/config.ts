import { EnvMissingError, bool, cleanEnv, str } from 'envalid';
import type { CleanedEnv } from 'envalid';
import {
  addresses,
  databaseUrl,
  httpUrl,
  natsUrl,
  networks,
  origin,
  smtpUrl,
} from './config/address-settings.ts';
import { allOptionNames, currencies, optionNames, timeZone } from './config/name-settings.ts';
import {
  poolSize,
  port,
  retentionDays,
  timeScale,
  webhooksPoolSize,
  wholeNumber,
} from './config/number-settings.ts';
import { masterKey, secretKeys, serviceTokens, simulatorCredentials } from './config/secret-settings.ts';

/** A process's environment, handed in by its composition root. */
export type ProcessEnvironment = Readonly<Record<string, string | undefined>>;

/** One or more settings are missing or not usable. The message names each of them and what it takes. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

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
  GATEHOUSE_CHECKOUT_PAYMENTS_PER_NETWORK: wholeNumber({ default: 300 }),
  GATEHOUSE_CHECKOUT_BASE_URL: httpUrl({ default: undefined }),
  GATEHOUSE_TIME_ZONE: timeZone({ default: 'Africa/Addis_Ababa' }),
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
