import type { ProcessEnvironment } from '../../platform/settings/read-settings.ts';

/** Settings that a campaign takes from its environment. They change behaviour and lead to no other server. */
const taken = new Set([
  'GATEHOUSE_CHECKOUT_PAYMENTS_PER_NETWORK',
  'GATEHOUSE_DATABASE_POOL_SIZE',
  'GATEHOUSE_LOG_LEVEL',
  'GATEHOUSE_RATE_LIMIT_FAILED_KEYS',
  'GATEHOUSE_TIME_ZONE',
  'GATEHOUSE_WAITING_REQUESTS',
  'GATEHOUSE_WEBHOOK_MAX_IN_FLIGHT',
  'GATEHOUSE_WEBHOOK_RETENTION_DAYS',
]);

/** The load's one shop sends more than a usual shop, and its few payers with special outcomes pay often. The wallets answer sooner than people do. */
const ofTheCampaign = {
  GATEHOUSE_RATE_LIMIT_PER_KEY: '0',
  GATEHOUSE_PHONE_PROMPTS_PER_10_MINUTES: '0',
  GATEHOUSE_SIMULATOR_TIME_SCALE: '0.3',
} as const;

/** The settings of a campaign's processes, and the names of those that are left out, for the report. No value of `settings` is a secret. */
export function campaignEnvironment(environment: ProcessEnvironment): {
  readonly environment: ProcessEnvironment;
  readonly settings: Readonly<Record<string, string>>;
  readonly settingsOfTheCampaign: Readonly<Record<string, string>>;
  readonly leftOut: readonly string[];
} {
  const given = Object.entries(environment).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, value] as const],
  );
  const isOurs = (name: string): boolean => /^(GATEHOUSE|OTEL)_/.test(name);
  const settings = Object.fromEntries(given.filter(([name]) => taken.has(name)));
  return {
    environment: {
      ...Object.fromEntries(given.filter(([name]) => !isOurs(name))),
      ...settings,
      ...ofTheCampaign,
    },
    settings,
    settingsOfTheCampaign: { ...ofTheCampaign },
    leftOut: given
      .map(([name]) => name)
      .filter((name) => isOurs(name) && !taken.has(name))
      .sort(),
  };
}
