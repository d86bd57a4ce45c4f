import { EnvError, makeExactValidator, str } from 'envalid';
import { parseServiceTokens } from '../platform/rpc/service-tokens.ts';
import type { ServiceTokens } from '../platform/rpc/service-tokens.ts';
import { addresses, natsUrl } from '../platform/settings/address-settings.ts';
import type { ProcessEnvironment } from '../platform/settings/read-settings.ts';
import { tlsServerSettings, tlsSettings } from '../platform/tls/tls-settings.ts';
import { roles } from './roles.ts';

/** A token that is sent in a header. */
export const serviceToken = makeExactValidator<string>((input) => {
  if (!/^[\x21-\x7e]+$/.test(input))
    throw new EnvError(
      'has characters that a header cannot carry, such as blanks, line breaks or typographic quotes; make a token with: openssl rand -hex 32',
    );
  return input;
});

/** The settings of every process that calls core. */
export const clientSettings = {
  ...tlsSettings,
  GATEHOUSE_CORE_ADDRESSES: addresses({ default: ['127.0.0.1:50051'] }),
  GATEHOUSE_SERVICE_TOKEN: serviceToken({
    desc: 'the service token of this process, one of those in GATEHOUSE_SERVICE_TOKENS of core',
  }),
};

/** Where the wallets are configured: exactly one of the two. */
export const walletsFileSettings = {
  GATEHOUSE_WALLETS_FILE: str({ default: undefined }),
  GATEHOUSE_WALLETS: str({ default: undefined }),
};

/** The settings of every process that uses the broker. */
export const brokerSettings = {
  GATEHOUSE_NATS_URL: natsUrl({ desc: 'the URL of NATS with JetStream', example: 'nats://127.0.0.1:4222' }),
};

const serviceTokens = makeExactValidator<ServiceTokens>((input) => {
  const tokens = parseServiceTokens(input, roles);
  if (typeof tokens === 'string') throw new EnvError(tokens);
  return tokens;
});

/** The settings of every process that serves RPCs. */
export const serverSettings = {
  ...tlsServerSettings,
  GATEHOUSE_SERVICE_TOKENS: serviceTokens({
    desc: 'the service tokens that may call, as role:token,role:token; create one with openssl rand -hex 32',
  }),
};

/**
 * The settings. Those of tokens are optional where certificates can take their place. A client then shows its own certificate,
 * and a server has a trust domain whose certificates name roles.
 */
export function certificatesForTokens<S extends object>(environment: ProcessEnvironment, specs: S): S {
  const isGiven = (name: string): boolean => (environment[name] ?? '') !== '';
  return {
    ...specs,
    ...('GATEHOUSE_SERVICE_TOKEN' in specs && isGiven('GATEHOUSE_TLS_CERTIFICATE_FILE')
      ? { GATEHOUSE_SERVICE_TOKEN: serviceToken({ default: '' }) }
      : {}),
    ...('GATEHOUSE_SERVICE_TOKENS' in specs && isGiven('GATEHOUSE_TLS_TRUST_DOMAIN')
      ? { GATEHOUSE_SERVICE_TOKENS: serviceTokens({ default: [] }) }
      : {}),
  };
}
