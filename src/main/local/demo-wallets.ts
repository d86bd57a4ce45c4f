import type { Secrets } from './secrets.ts';

const shown = {
  walleta: {
    names: { en: 'Wallet A', am: 'ዋሌት ኤ' },
    channels: ['wallet', 'ussd'],
    phone_prefixes: ['+2519'],
  },
  walletb: { names: { en: 'Wallet B', am: 'ዋሌት ቢ' }, channels: ['ussd'], phone_prefixes: ['+2517'] },
} as const;

const variableOf = (wallet: string, name: string): string => `GATEHOUSE_${wallet.toUpperCase()}_${name}`;

/**
 * The configuration of the simulated wallets of the sandbox, as JSON for GATEHOUSE_WALLETS.
 * @param currencies GATEHOUSE_CURRENCIES
 */
export function demoWallets(
  simulatorUrl: string,
  secrets: Pick<Secrets, 'simulated_wallets'>,
  currencies: string | undefined,
): string {
  const codes = (currencies || 'ETB,USD').split(',').map((code) => ({ code: code.trim() }));
  const wallets = (['walleta', 'walletb'] as const).map((id) => {
    const apiKey = { secret: variableOf(id, 'API_KEY') };
    const settings = {
      base_url: `${simulatorUrl}/${id}`,
      client_id: secrets.simulated_wallets[id].client_id,
      client_secret: { secret: variableOf(id, 'CLIENT_SECRET') },
      api_key: apiKey,
      payee: { type: 'accountid', id: '2999' },
    };
    // The simulated wallets use the same key for callbacks as for requests.
    const sandbox = { settings, callbacks: { api_key: apiKey } };
    return {
      id,
      ...shown[id],
      connector: 'gsma',
      currencies: codes,
      reconcile: true,
      environments: { sandbox },
    };
  });
  return JSON.stringify({ wallets });
}

/** The secrets that the configuration names, as variables of the wallets process. */
export const simulatedWalletSecrets = ({ simulated_wallets: wallets }: Pick<Secrets, 'simulated_wallets'>) =>
  Object.fromEntries(
    (['walleta', 'walletb'] as const).flatMap((id) => [
      [variableOf(id, 'CLIENT_SECRET'), wallets[id].client_secret],
      [variableOf(id, 'API_KEY'), wallets[id].api_key],
    ]),
  );
