import { Code, ConnectError } from '@connectrpc/connect';
import type { Client } from '@connectrpc/connect';
import type { MerchantWalletService } from '../gen/gatehouse/v1/merchant_wallet_service_pb.js';
import { SettingsError } from '../platform/settings/read-settings.ts';
import { withoutCallbacks } from './check-wallet.ts';
import type { ConnectorOptions } from './connector/connector-kind.ts';
import type { WalletConnector } from './connector/wallet-connector.ts';
import { createConnector } from './create-connector.ts';
import { secretsAmong, withMerchantValues } from './merchant-account.ts';
import type { WalletSettings } from './wallet-settings.ts';

/** A merchant's own account at the wallet. */
export interface AccountReference {
  readonly merchantId: string;
  readonly walletAccountId: string;
}

/** An open connector with a merchant's own settings. */
export interface OpenAccount {
  readonly connector: WalletConnector;
  /** Replaces the secrets of the account in a text. */
  readonly mask: (text: string) => string;
}

/**
 * The connectors of one wallet in one environment with the merchants' own settings. Each account has a connector, and so its
 * own connections, so that a failing account does not affect others. It has its own access token too, unless the wallet
 * issues one token per app and the app is shared.
 */
export interface AccountConnectors {
  /**
   * Runs `work` with the connector of an account, or `unusable` when the account is removed, or its settings cannot be used. `failure`
   * is the error if core did not give the settings. Such an error says nothing about the account.
   * `mask` replaces the secrets of the account in a text. `forget` makes the next use read the settings again. The wallet may have refused
   * them, because after a restore the id of a lost account can have other credentials. Connectors that are not in use are closed after a while.
   */
  readonly use: <T>(
    account: AccountReference,
    work: (
      connector: WalletConnector,
      account: Pick<OpenAccount, 'mask'> & { readonly forget: () => void },
    ) => Promise<T>,
    unusable: (detail: string, failure?: unknown) => T,
  ) => Promise<T>;
  /**
   * Opens a connector that is not shared, for a check of the credentials. It needs no callbacks, and only a token that `SharedTokens`
   * share is cached. @throws ConnectError while core does not answer
   */
  readonly openForCheck: (account: AccountReference) => Promise<OpenAccount | { readonly unusable: string }>;
  readonly close: () => Promise<void>;
}

export interface AccountConnectorsParts {
  readonly client: Pick<Client<typeof MerchantWalletService>, 'getWalletAccountSettings'>;
  /** The wallet with the operator's settings. */
  readonly settings: WalletSettings;
  readonly options: ConnectorOptions;
  /** The number of connectors that stay open without work. */
  readonly maxIdle: number;
  readonly idleMs: number;
  readonly monotonicMs: () => number;
}

interface Entry {
  readonly opening: Promise<OpenAccount | { readonly unusable: string }>;
  users: number;
  idleSinceMs: number;
  /** Whether the connector is closed after its last use, and gets no new work. */
  isForgotten: boolean;
}

export function createAccountConnectors(parts: AccountConnectorsParts): AccountConnectors {
  const { client, settings, options, maxIdle, idleMs, monotonicMs } = parts;
  /** The least recently used first. */
  const entries = new Map<string, Entry>();

  const open = async (
    account: AccountReference,
    connectorOptions: ConnectorOptions,
  ): Promise<OpenAccount | { readonly unusable: string }> => {
    try {
      const { values, wallet } = await client.getWalletAccountSettings(account, { timeoutMs: 5_000 });
      if (wallet !== settings.wallet)
        return { unusable: `the account belongs to the wallet ${wallet}, not to ${settings.wallet}` };
      const merged = withMerchantValues(settings.kind, settings.settings, values);
      const secrets = secretsAmong(settings.kind, values);
      const connector = await createConnector({ ...settings, settings: merged }, connectorOptions);
      return { connector, mask: (text) => withoutSecrets(text, secrets) };
    } catch (error) {
      const detail = detailOf(error);
      if (detail === undefined) throw error;
      return { unusable: detail };
    }
  };
  const closeEntry = async ({ opening }: Entry): Promise<void> => {
    const opened = await opening.catch(() => undefined);
    if (opened !== undefined && 'connector' in opened) await opened.connector.close();
  };
  const drop = (id: string, entry: Entry): void => {
    if (entries.get(id) === entry) entries.delete(id);
    void closeEntry(entry);
  };
  const closeIdle = (): void => {
    const idle = [...entries].filter(([, { users }]) => users === 0);
    const tooMany = idle.length - maxIdle;
    for (const [position, [id, entry]] of idle.entries())
      if (position < tooMany || monotonicMs() - entry.idleSinceMs >= idleMs) drop(id, entry);
  };
  const sweep = setInterval(closeIdle, idleMs).unref();

  return {
    async use(account, work, unusable) {
      const id = account.walletAccountId;
      const entry = entries.get(id) ?? {
        opening: open(account, options),
        users: 0,
        idleSinceMs: 0,
        isForgotten: false,
      };
      entries.delete(id);
      entries.set(id, entry);
      entry.users += 1;
      const forget = (): void => {
        entry.isForgotten = true;
        if (entries.get(id) === entry) entries.delete(id);
      };
      let opened: Awaited<Entry['opening']> | undefined;
      try {
        try {
          opened = await entry.opening;
        } catch (error) {
          return unusable('core did not give the settings of the account', error);
        }
        if ('unusable' in opened) return unusable(opened.unusable);
        return await work(opened.connector, { mask: opened.mask, forget });
      } finally {
        entry.users -= 1;
        entry.idleSinceMs = monotonicMs();
        // The next use reads the account again, because the reason may be gone.
        if (opened === undefined || 'unusable' in opened) forget();
        if (entry.isForgotten && entry.users === 0) void closeEntry(entry);
        closeIdle();
      }
    },
    openForCheck: (account) => open(account, { ...options, ...withoutCallbacks(options.callbackBaseUrl) }),
    async close() {
      clearInterval(sweep);
      const all = [...entries.values()];
      entries.clear();
      await Promise.all(all.map(closeEntry));
    },
  };
}

/** Why an account cannot be used; undefined for an error that says nothing about the account. */
function detailOf(error: unknown): string | undefined {
  if (error instanceof SettingsError) return error.message;
  if (!(error instanceof ConnectError)) return undefined;
  if (error.code === Code.NotFound) return "the merchant's own account at the wallet was removed";
  return error.code === Code.FailedPrecondition ? error.rawMessage : undefined;
}

const withoutSecrets = (text: string, secrets: readonly string[]): string =>
  secrets.reduce((left, secret) => left.replaceAll(secret, '[masked]'), text);
