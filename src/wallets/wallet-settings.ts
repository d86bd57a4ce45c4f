import { isIP } from 'node:net';
import { Type } from '@sinclair/typebox';
import type { TObject } from '@sinclair/typebox';
import { isSecretReference, mistakeIn } from '../contract/wallets-file/read-wallets-file.ts';
import type { ConfiguredWallet } from '../contract/wallets-file/read-wallets-file.ts';
import { secretReference } from '../contract/wallets-file/wallets-schema.ts';
import type { EnvironmentName, WalletEnvironment } from '../contract/wallets-file/wallets-schema.ts';
import type { PaymentOption } from '../contract/payment-option.ts';
import { isNetwork } from '../platform/settings/address-settings.ts';
import type { ProcessEnvironment } from '../platform/settings/read-settings.ts';
import { readSettingText } from '../platform/settings/setting-text.ts';
import { isSecret } from './connector/connector-kind.ts';
import type { ConnectorKind } from './connector/connector-kind.ts';

/** One wallet in one environment: its connector, our credentials and its limits. */
export interface WalletSettings {
  /** The wallet's id. */
  readonly wallet: string;
  readonly environment: EnvironmentName;
  readonly kind: ConnectorKind;
  /** The settings of the kind, with the secrets in place. */
  readonly settings: Readonly<Record<string, unknown>>;
  readonly options: readonly PaymentOption[];
  readonly currencies: readonly string[];
  /** The addresses and networks that may send callbacks; any when empty. */
  readonly callbackSources: readonly string[];
  readonly callbackApiKey: string | undefined;
  /** The settings of payer-started payments; undefined when the wallet does not report them. */
  readonly payerStarted: PayerStartedSettings | undefined;
  readonly maxInFlight: number | undefined;
  readonly callTimeoutMs: number | undefined;
}

export interface PayerStartedSettings {
  /** The action of the wallet on a payment when our validation URL does not answer. */
  readonly withoutAnswer: 'cancel' | 'complete';
  readonly registerAtStart: boolean;
}

/**
 * Completes the configured wallets with their connectors and secrets. `variables` are the environment variables of the process. They
 * contain the secrets, or name the files that do.
 * @throws SettingsError that names the path of a mistake, never a secret
 */
export function walletSettings(
  wallets: readonly ConfiguredWallet[],
  kinds: readonly ConnectorKind[],
  variables: ProcessEnvironment,
): readonly WalletSettings[] {
  return wallets.flatMap((wallet) => {
    const kind = kinds.find(({ name }) => name === wallet.connector);
    if (kind === undefined) {
      const names = kinds.map(({ name }) => name).join(', ');
      throw wallet.problemAt(['connector'], `must be one of ${names}`);
    }
    if (wallet.reconcile === true && !kind.capabilities.statement)
      throw wallet.problemAt(['reconcile'], `must be absent, because ${kind.name} has no statement`);
    return (['sandbox', 'production'] as const).flatMap((environment) => {
      const entry = wallet.environments[environment];
      if (entry === undefined) return [];
      const complete = settingsOf(wallet, environment, entry, kind, variables);
      const lacks = wallet.reconcile === true ? kind.statementLacks?.(complete.settings) : undefined;
      if (lacks === undefined) return [complete];
      const rule = `must be absent, because ${kind.name} has a statement only with ${lacks}`;
      throw wallet.problemAt(['reconcile'], `${rule}, which the settings of ${environment} lack`);
    });
  });
}

function settingsOf(
  wallet: ConfiguredWallet,
  environment: EnvironmentName,
  entry: WalletEnvironment,
  kind: ConnectorKind,
  variables: ProcessEnvironment,
): WalletSettings {
  const path = ['environments', environment];
  const mistake = mistakeIn(wallet, [...path, 'settings'], asConfigured(kind.settings), entry.settings);
  if (mistake !== undefined) throw mistake;
  const secretAt = (keys: readonly string[], name: string): string => {
    const secret = readSecret(variables, name);
    if ('problem' in secret) throw wallet.problemAt([...path, ...keys], secret.problem);
    return secret.text;
  };
  const settings = Object.fromEntries(
    Object.entries(entry.settings).map(([key, value]) => [
      key,
      isSecretReference(value) ? secretAt(['settings', key], value.secret) : value,
    ]),
  );
  const wrong = mistakeIn(wallet, [...path, 'settings'], kind.settings, settings);
  if (wrong !== undefined) throw wrong;
  const callbacks = callbackSettingsOf(wallet, path, entry, secretAt);
  const payer = entry.payer_started;
  if (payer !== undefined && kind.reportsPayerStarted !== true)
    throw wallet.problemAt(
      [...path, 'payer_started'],
      `must be absent, because ${kind.name} reports no payments that payers start`,
    );
  return {
    wallet: wallet.id,
    environment,
    kind,
    settings,
    options: wallet.channels.map((channel) => `${wallet.id}_${channel}` as const),
    currencies: wallet.currencies.map(({ code }) => code),
    ...callbacks,
    payerStarted: payer && {
      withoutAnswer: payer.without_answer ?? 'cancel',
      registerAtStart: payer.register_at_start ?? false,
    },
    maxInFlight: entry.max_in_flight,
    callTimeoutMs: entry.call_timeout_ms,
  };
}

function callbackSettingsOf(
  wallet: ConfiguredWallet,
  path: readonly string[],
  { callbacks }: WalletEnvironment,
  secretAt: (keys: readonly string[], name: string) => string,
): Pick<WalletSettings, 'callbackSources' | 'callbackApiKey'> {
  const callbackSources = callbacks?.sources ?? [];
  const unreadable = callbackSources.findIndex((source) => isIP(source) === 0 && !isNetwork(source));
  if (unreadable !== -1)
    throw wallet.problemAt(
      [...path, 'callbacks', 'sources', unreadable],
      'must be an IP address or a network such as 10.0.0.0/8',
    );
  const callbackApiKey = callbacks?.api_key && secretAt(['callbacks', 'api_key'], callbacks.api_key.secret);
  // Unguessable, and valid in a header.
  if (callbackApiKey !== undefined && !/^[\x21-\x7e]{16,256}$/.test(callbackApiKey))
    throw wallet.problemAt([...path, 'callbacks', 'api_key'], 'must be 16 to 256 printable ASCII characters');
  return { callbackSources, callbackApiKey };
}

/** The schema of a kind's settings as the file has them: a secret is named, not contained. */
export function asConfigured(schema: TObject): TObject {
  const properties = Object.entries(schema.properties).map(([key, property]) => {
    if (property[isSecret] !== true) return [key, property] as const;
    const named = { ...secretReference, description: property.description ?? '' };
    return [key, schema.required?.includes(key) === true ? named : Type.Optional(named)] as const;
  });
  return { ...schema, properties: Object.fromEntries(properties) };
}

/** The text of a secret, from the process's environment or its file. */
function readSecret(
  variables: ProcessEnvironment,
  name: string,
): { readonly text: string } | { readonly problem: string } {
  const read = readSettingText(variables, name);
  if ('problem' in read) return read;
  return read.text === undefined
    ? { problem: `names ${name}, but neither ${name} nor ${name}_FILE is set` }
    : { text: read.text };
}
