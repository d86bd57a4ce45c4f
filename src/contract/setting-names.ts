/** The settings of all processes and commands. They may share one environment, so each process knows the names of the others. */
export const settingNames: readonly string[] = [
  'GATEHOUSE_BALANCE_MINUTES',
  'GATEHOUSE_CHECKOUT_BASE_URL',
  'GATEHOUSE_CHECKOUT_PAYMENTS_PER_NETWORK',
  'GATEHOUSE_CHECKOUT_PORT',
  'GATEHOUSE_CORE_ADDRESSES',
  'GATEHOUSE_CORE_CONNECT_PORT',
  'GATEHOUSE_CORE_GRPC_PORT',
  'GATEHOUSE_CURRENCIES',
  'GATEHOUSE_DASHBOARD_BASE_URL',
  'GATEHOUSE_DASHBOARD_PORT',
  'GATEHOUSE_DATABASE_ADDRESS',
  'GATEHOUSE_DATABASE_POOL_SIZE',
  'GATEHOUSE_DATABASE_TLS',
  'GATEHOUSE_DATABASE_URL',
  'GATEHOUSE_DATA_DIR',
  'GATEHOUSE_FIRST_OPERATOR',
  'GATEHOUSE_FIRST_START_FOLDER',
  'GATEHOUSE_HOST',
  'GATEHOUSE_INSTANCE',
  'GATEHOUSE_LOG_LEVEL',
  'GATEHOUSE_MAIL_FROM',
  'GATEHOUSE_MASTER_KEY',
  'GATEHOUSE_METRICS_HOST',
  'GATEHOUSE_METRICS_PORT',
  'GATEHOUSE_NATS_ADDRESS',
  'GATEHOUSE_NATS_PORT',
  'GATEHOUSE_NATS_TLS',
  'GATEHOUSE_NATS_URL',
  'GATEHOUSE_PERSONAL_DATA_DAYS',
  'GATEHOUSE_PHONE_PROMPTS_PER_10_MINUTES',
  'GATEHOUSE_POSTGRES_PORT',
  'GATEHOUSE_PROGRAMS',
  'GATEHOUSE_RATE_LIMIT_FAILED_KEYS',
  'GATEHOUSE_RATE_LIMIT_PER_KEY',
  'GATEHOUSE_RECOVERY_SETTLE_SECONDS',
  'GATEHOUSE_REQUIRED_CERTIFICATION',
  'GATEHOUSE_REST_PRODUCTION_PORT',
  'GATEHOUSE_REST_PRODUCTION_URL',
  'GATEHOUSE_REST_SANDBOX_PORT',
  'GATEHOUSE_REST_SANDBOX_URL',
  'GATEHOUSE_SECRETS_FOLDER',
  'GATEHOUSE_SERVICE_TOKEN',
  'GATEHOUSE_SERVICE_TOKENS',
  'GATEHOUSE_SIMULATOR_CREDENTIALS',
  'GATEHOUSE_SIMULATOR_INTERACTIVE',
  'GATEHOUSE_SIMULATOR_JOURNAL_DIR',
  'GATEHOUSE_SIMULATOR_PORT',
  'GATEHOUSE_SIMULATOR_TIME_SCALE',
  'GATEHOUSE_SMTP_URL',
  'GATEHOUSE_STARTED_FOR',
  'GATEHOUSE_TIME_ZONE',
  'GATEHOUSE_TLS_CA_FILE',
  'GATEHOUSE_TLS_CERTIFICATE_FILE',
  'GATEHOUSE_TLS_CLIENT_CERTIFICATES',
  'GATEHOUSE_TLS_KEY_FILE',
  'GATEHOUSE_TLS_TRUST_DOMAIN',
  'GATEHOUSE_TRUSTED_PROXIES',
  'GATEHOUSE_WAITING_REQUESTS',
  'GATEHOUSE_WALLETS',
  'GATEHOUSE_WALLETS_FILE',
  'GATEHOUSE_WALLET_ACCOUNT_KEYS',
  'GATEHOUSE_WALLET_CALLBACK_BASE_URL',
  'GATEHOUSE_WALLET_CALLBACK_KEY',
  'GATEHOUSE_WALLET_CALLBACK_PORT',
  'GATEHOUSE_WEBHOOKS_ADDRESSES',
  'GATEHOUSE_WEBHOOKS_CONNECT_PORT',
  'GATEHOUSE_WEBHOOKS_DATABASE_URL',
  'GATEHOUSE_WEBHOOKS_GRPC_PORT',
  'GATEHOUSE_WEBHOOK_MAX_IN_FLIGHT',
  'GATEHOUSE_WEBHOOK_RETENTION_DAYS',
  'GATEHOUSE_WEBHOOK_SANDBOX_NETWORKS',
  'GATEHOUSE_WEBHOOK_SECRET',
  'GATEHOUSE_WEBHOOK_SECRET_KEYS',
];

const known = new Set(settingNames);
/** Names that only this repository's tests read. */
const testPrefix = 'GATEHOUSE_TEST_';

/**
 * One sentence about each variable of the environment that looks like a setting and is none. Nothing reads such a variable, so a
 * misspelt setting would silently have no effect. It is no error, because another version may know it. `others` are names that the
 * operator chose.
 */
export function unknownSettings(
  environment: Readonly<Record<string, string | undefined>>,
  others: readonly string[] = [],
): string[] {
  return unknownNames(environment, others).map((name) => `${noSetting(name)}${adviceOn(name)}`);
}

/** The same for those that resemble a setting, when it is not known which names the operator chose. */
export const misspeltSettings = (environment: Readonly<Record<string, string | undefined>>): string[] =>
  unknownNames(environment, []).flatMap((name) => {
    const advice = adviceOn(name);
    return advice === '' ? [] : [`${noSetting(name)}${advice}`];
  });

const noSetting = (name: string): string => `${name} is not a setting and has no effect`;

function unknownNames(
  environment: Readonly<Record<string, string | undefined>>,
  others: readonly string[],
): string[] {
  const isKnown = (name: string): boolean => known.has(name) || others.includes(name);
  return Object.keys(environment)
    .filter((name) => name.startsWith('GATEHOUSE_') && !name.startsWith(testPrefix))
    .filter((name) => !isKnown(name) && !isKnown(name.replace(/_FILE$/, '')))
    .sort();
}

function adviceOn(name: string): string {
  const asked = name.replace(/_FILE$/, '');
  const [best] = settingNames
    .map((each) => ({ each, likeness: likeness(each, asked) }))
    .toSorted((a, b) => b.likeness - a.likeness);
  return best !== undefined && best.likeness >= minLikeness ? `; did you mean ${best.each}?` : '';
}

const minLikeness = 0.7;

/** The share of pairs of neighbouring letters that two names have in common, from 0 to 1 (the coefficient of Sørensen and Dice). */
function likeness(a: string, b: string): number {
  const [ofA, ofB] = [pairsOf(a), pairsOf(b)];
  const common = [...ofA].filter((pair) => ofB.has(pair)).length;
  return (2 * common) / (ofA.size + ofB.size);
}

const pairsOf = (name: string): Set<string> => {
  const letters = name.slice('GATEHOUSE'.length);
  return new Set(Array.from(letters, (letter, at) => letter + (letters[at + 1] ?? '')));
};
