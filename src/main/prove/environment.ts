import type { ProcessEnvironment } from '../../platform/settings/read-settings.ts';

/** Settings that a campaign takes from its environment: those that change behaviour and lead to nobody else's servers. */
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

/** The load sends more than one shop, and its payers with odd numbers pay often. The wallets answer sooner than people. */
const ofTheCampaign = {
  GATEHOUSE_RATE_LIMIT_PER_KEY: '0',
  GATEHOUSE_PHONE_PROMPTS_PER_10_MINUTES: '0',
  GATEHOUSE_SIMULATOR_TIME_SCALE: '0.3',
} as const;

/** The settings of a campaign's processes, and what the report says of them. No value of `settings` is a secret. */
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
