import type { WalletTools } from '../cli/wallet-commands.ts';
import { readWallets } from '../contract/wallets-file/read-wallets-file.ts';
import type { ProcessEnvironment } from '../platform/settings/read-settings.ts';
import { checkWallet } from '../wallets/check-wallet.ts';
import { createConnector } from '../wallets/create-connector.ts';
import { connectorKinds } from '../wallets/connector-kinds.ts';
import { walletSettings } from '../wallets/wallet-settings.ts';
import type { WalletSettings } from '../wallets/wallet-settings.ts';
import { walletsJsonSchema } from '../wallets/wallets-json-schema.ts';

/** The time limit of a check of one wallet. */
const timeoutMs = 20_000;

/** The commands of the command line that work on the file of wallets. They use the connectors, and need no core. */
export const walletTools = (environment: ProcessEnvironment): WalletTools => ({
  schema: () => walletsJsonSchema(connectorKinds),
  async check(only) {
    const { GATEHOUSE_WALLETS_FILE: file, GATEHOUSE_WALLETS: json } = environment;
    const wallets = readWallets({ file: file || undefined, json: json || undefined });
    const chosen = walletSettings(wallets, connectorKinds, environment).filter(
      ({ wallet }) => only === undefined || wallet === only,
    );
    return Promise.all(chosen.map(checkOne));
  },
});

async function checkOne(chosen: WalletSettings) {
  const { wallet, environment, currencies } = chosen;
  const connector = createConnector(chosen, {
    // No payment is requested, so no callback follows.
    callbackBaseUrl: () => 'https://gatehouse.invalid',
    currencies,
    timeouts: { connectMs: 5_000, callMs: timeoutMs },
    maxConnections: 4,
    now: () => new Date(),
  });
  try {
    return { wallet, environment, ...(await checkWallet(connector, AbortSignal.timeout(timeoutMs))) };
  } finally {
    await connector.close();
  }
}
