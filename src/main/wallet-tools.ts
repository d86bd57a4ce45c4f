import type { CheckedWallet, RegisteredUrls, WalletTools } from '../cli/wallet-commands.ts';
import { readWallets } from '../contract/wallets-file/read-wallets-file.ts';
import { baseUrl } from '../platform/settings/address-settings.ts';
import { key256 } from '../platform/settings/key-settings.ts';
import { readSettings } from '../platform/settings/read-settings.ts';
import type { ProcessEnvironment } from '../platform/settings/read-settings.ts';
import { SharedTokens } from '../wallets/connector/access-tokens.ts';
import { createSharedLookup } from '../wallets/connector/shared-lookup.ts';
import { createCallbackTokens } from '../wallets/callback-token.ts';
import { checkWallet, withoutCallbacks } from '../wallets/check-wallet.ts';
import { createConnector } from '../wallets/create-connector.ts';
import type { WalletConnector } from '../wallets/connector/wallet-connector.ts';
import { connectorKinds } from '../wallets/connector-kinds.ts';
import { payerStartedUrls } from '../wallets/payer-started.ts';
import { registrationText } from '../wallets/register-urls.ts';
import { walletSettings } from '../wallets/wallet-settings.ts';
import type { WalletSettings } from '../wallets/wallet-settings.ts';
import { walletsJsonSchema } from '../wallets/wallets-json-schema.ts';

/** The time limit of a check of one wallet. */
const timeoutMs = 20_000;

/** The commands of the command line that work on the file of wallets. They use the connectors, and need no core. */
export const walletTools = (environment: ProcessEnvironment): WalletTools => ({
  schema: () => walletsJsonSchema(connectorKinds),
  check: (only) =>
    Promise.all(chosenWallets(environment, only).map((chosen) => checkOne(chosen, environment))),
  registerUrls: (only) =>
    Promise.all(chosenWallets(environment, only).map((chosen) => registerOne(chosen, environment))),
});

/** @throws SettingsError */
function chosenWallets(environment: ProcessEnvironment, only: string | undefined): readonly WalletSettings[] {
  const { GATEHOUSE_WALLETS_FILE: file, GATEHOUSE_WALLETS: json } = environment;
  const wallets = readWallets({ file: file || undefined, json: json || undefined });
  return walletSettings(wallets, connectorKinds, environment).filter(
    ({ wallet }) => only === undefined || wallet === only,
  );
}

const callbackSettings = {
  GATEHOUSE_WALLET_CALLBACK_KEY: key256({
    desc: 'the same 64 hexadecimal digits as for the wallets process',
  }),
  GATEHOUSE_WALLET_CALLBACK_BASE_URL: baseUrl({ desc: 'the same public URL as for the wallets process' }),
};
const ownUrlSettings = { GATEHOUSE_WALLET_CALLBACK_BASE_URL: baseUrl({ default: undefined }) };

async function registerOne(chosen: WalletSettings, variables: ProcessEnvironment): Promise<RegisteredUrls> {
  const { wallet, environment, payerStarted } = chosen;
  const about = { wallet, environment, validation_url: '', confirmation_url: '' };
  if (payerStarted === undefined) {
    const detail =
      chosen.kind.reportsPayerStarted === true
        ? 'add payer_started to this environment in GATEHOUSE_WALLETS_FILE first'
        : `the connector ${chosen.kind.name} does not support payer-started payments`;
    return { ...about, result: 'not_configured', detail };
  }
  const settings = readSettings(variables, callbackSettings);
  const name = `${wallet}-${environment}`;
  const base = settings.GATEHOUSE_WALLET_CALLBACK_BASE_URL.replace(/\/+$/, '');
  const tokens = createCallbackTokens(settings.GATEHOUSE_WALLET_CALLBACK_KEY, name);
  const urls = payerStartedUrls(`${base}/callbacks/${name}`, tokens);
  const registered = await withConnector(chosen, (connector) =>
    connector.payerStarted?.register(
      { ...urls, withoutAnswer: payerStarted.withoutAnswer },
      { signal: AbortSignal.timeout(timeoutMs) },
    ),
  );
  if (registered === undefined) throw new TypeError(`the connector of ${wallet} registers no URLs`);
  const { result } = registered;
  return {
    wallet,
    environment,
    validation_url: urls.validation,
    confirmation_url: urls.confirmation,
    result: result.kind === 'unknown' || result.kind === 'not_sent' ? 'no_answer' : result.kind,
    detail: registrationText(result),
  };
}

function checkOne(chosen: WalletSettings, variables: ProcessEnvironment): Promise<CheckedWallet> {
  const { wallet, environment } = chosen;
  const { GATEHOUSE_WALLET_CALLBACK_BASE_URL: ownUrl } = readSettings(variables, ownUrlSettings);
  const payerStarted =
    chosen.payerStarted !== undefined
      ? 'taken'
      : chosen.kind.reportsPayerStarted === true
        ? 'not configured'
        : 'not offered';
  const check = async (connector: WalletConnector): Promise<CheckedWallet> => ({
    wallet,
    environment,
    payer_started: payerStarted,
    ...(await checkWallet(connector, AbortSignal.timeout(timeoutMs))),
  });
  return withConnector(chosen, check, ownUrl);
}

async function withConnector<Result>(
  chosen: WalletSettings,
  work: (connector: WalletConnector) => Promise<Result> | Result,
  ownUrl?: string,
): Promise<Result> {
  const connector = await createConnector(chosen, {
    ...withoutCallbacks(() => ownUrl),
    currencies: chosen.currencies,
    timeouts: { connectMs: 5_000, callMs: timeoutMs },
    lookup: createSharedLookup(),
    maxConnections: 4,
    sharedTokens: new SharedTokens(),
    now: () => new Date(),
  });
  try {
    return await work(connector);
  } finally {
    await connector.close();
  }
}
