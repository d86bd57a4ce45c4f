import { ConfigurationError } from './errors.ts';
import type { RetryPolicy } from './retries.ts';
import type { Environment } from './types.ts';

export interface GatehouseSettings {
  /** `svc_test_…` for the sandbox, or `svc_live_…` for production. Keep it on your server. */
  readonly apiKey: string;
  /** The address of the gateway for the key's environment, such as `https://pay.example`; or those of both. */
  readonly baseUrl: string | Readonly<Record<Environment, string>>;
  /** The environment of the address. With another key, nothing is sent. */
  readonly environment?: Environment;
  /** The time for one answer: 15 by default. */
  readonly timeoutSeconds?: number;
  /** The maximum number of repeats of a request: 3 by default. */
  readonly retries?: number;
  /** The longest Retry-After to wait for: 30 by default. */
  readonly longestRetryAfterSeconds?: number;
  /** Sends the requests, instead of the global `fetch`. */
  readonly fetch?: typeof fetch;
}

export interface Connection extends RetryPolicy {
  readonly apiKey: string;
  readonly environment: Environment;
  /** Without a slash at its end. */
  readonly baseUrl: string;
  readonly timeoutSeconds: number;
  readonly send: typeof fetch;
}

const kinds = { sandbox: 'test key (svc_test_…)', production: 'live key (svc_live_…)' } as const;

/** @throws ConfigurationError for a mistake that can be seen before anything is sent */
export function connectionOf(settings: GatehouseSettings): Connection {
  const environment = environmentOf(settings.apiKey);
  if (settings.environment !== undefined && settings.environment !== environment)
    throw new ConfigurationError(
      `A ${kinds[environment]} works only in the ${environment} environment, and this address is the ` +
        `${settings.environment} environment. Use a ${kinds[settings.environment]}.`,
    );
  const { baseUrl } = settings;
  return {
    apiKey: settings.apiKey,
    environment,
    baseUrl: requireUrl(typeof baseUrl === 'string' ? baseUrl : baseUrl[environment]),
    timeoutSeconds: notNegative('timeoutSeconds', settings.timeoutSeconds ?? 15),
    retries: notNegative('retries', settings.retries ?? 3),
    longestRetryAfterSeconds: notNegative(
      'longestRetryAfterSeconds',
      settings.longestRetryAfterSeconds ?? 30,
    ),
    send: settings.fetch ?? ((input, init) => fetch(input, init)),
  };
}

function environmentOf(apiKey: unknown): Environment {
  if (typeof apiKey === 'string' && /^[!-~]+$/.test(apiKey)) {
    if (apiKey.startsWith('svc_test_')) return 'sandbox';
    if (apiKey.startsWith('svc_live_')) return 'production';
  }
  throw new ConfigurationError('An API key begins with svc_test_ (sandbox) or svc_live_ (production).');
}

function requireUrl(text: unknown): string {
  const url = typeof text === 'string' && URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '')
    throw new ConfigurationError('baseUrl is the address of the gateway, such as https://pay.example.');
  return url.href.replace(/\/+$/, '');
}

function notNegative(name: string, value: number): number {
  if (Number.isFinite(value) && value >= 0) return value;
  throw new ConfigurationError(`${name} is a number of at least 0.`);
}

/** The advice after a 401. */
export const adviceOn401 = ({ environment, baseUrl }: Connection): string =>
  `a ${kinds[environment]} works only at the ${environment} address of the gateway: check that ${baseUrl} is that address, ` +
  'and that the key is not revoked';
