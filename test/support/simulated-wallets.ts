import { randomBytes } from 'node:crypto';

type WalletId = 'walleta' | 'walletb';
type EnvironmentName = 'sandbox' | 'production';

/** The changes of a test to a wallet in its environments. `settings` are merged with the usual ones. */
export interface DifferentWallet {
  readonly environments?: readonly EnvironmentName[];
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly callbacks?: Readonly<Record<string, unknown>>;
  readonly max_in_flight?: number;
  readonly call_timeout_ms?: number;
  readonly currencies?: readonly object[];
}

const shown = {
  walleta: { names: { en: 'Wallet A', am: 'ዋሌት ኤ' }, channels: ['wallet', 'ussd'] },
  walletb: { names: { en: 'Wallet B', am: 'ዋሌት ቢ' }, channels: ['ussd'] },
} as const;

/** The two demo wallets of the contract, at a simulator, as JSON for GATEHOUSE_WALLETS. */
export function demoWallets(
  simulatorUrl: string,
  different: Readonly<Partial<Record<WalletId, DifferentWallet>>> = {},
  environments: readonly EnvironmentName[] = ['sandbox'],
): string {
  return JSON.stringify({
    wallets: (['walleta', 'walletb'] as const).map((id) => {
      const own = different[id] ?? {};
      const secret = (name: string) => ({ secret: `${id.toUpperCase()}_${name}` });
      const settings = {
        base_url: `${simulatorUrl}/${id}`,
        client_id: id,
        client_secret: secret('CLIENT_SECRET'),
        api_key: secret('API_KEY'),
        payee: { type: 'accountid', id: '2999' },
        ...own.settings,
      };
      const entry = {
        settings,
        callbacks: own.callbacks ?? { api_key: secret('API_KEY') },
        ...(own.max_in_flight === undefined ? {} : { max_in_flight: own.max_in_flight }),
        // A short time limit, so that a test soon sees the effect of a wallet that hangs.
        call_timeout_ms: own.call_timeout_ms ?? 1_000,
      };
      return {
        id,
        ...shown[id],
        connector: 'gsma',
        currencies: own.currencies ?? [{ code: 'ETB' }, { code: 'USD' }],
        reconcile: true,
        environments: Object.fromEntries((own.environments ?? environments).map((name) => [name, entry])),
      };
    }),
  });
}

/** Core's wallets in tests: both wallets, in both environments. Core ignores their settings. */
export const walletsOfCore = (different: Readonly<Partial<Record<WalletId, DifferentWallet>>> = {}): string =>
  demoWallets('http://127.0.0.1:1', different, ['sandbox', 'production']);

/**
 * The same, with payments from the menu of the phone at walleta. Checkout shows its paybill. With `merchantId`, there are such payments at
 * walletb too, to the paybill 600100 of this merchant alone.
 */
export function walletsOfCoreWithPaybill(paybill: string, merchantId?: string): string {
  const { wallets } = JSON.parse(walletsOfCore()) as {
    wallets: { id: string; environments: Record<string, object> }[];
  };
  const terms: Readonly<Record<string, object | undefined>> = {
    walleta: { paybill },
    walletb: merchantId === undefined ? undefined : { merchant_id: merchantId, paybill: '600100' },
  };
  const changed = wallets.map((wallet) => {
    const environments = Object.entries(wallet.environments).map(([name, entry]) => [
      name,
      { ...entry, payer_started: terms[wallet.id] },
    ]);
    return { ...wallet, environments: Object.fromEntries(environments) as Record<string, object> };
  });
  return JSON.stringify({ wallets: changed });
}

/** The wallets, with another one, `telebirr`, whose payers pay on its page. */
export function withPageWallet(json = walletsOfCore()): string {
  const walletsIn = (text: string): readonly object[] =>
    (JSON.parse(text) as { wallets: readonly object[] }).wallets;
  const [first = {}] = walletsIn(walletsOfCore());
  const own = { id: 'telebirr', names: { en: 'telebirr', am: 'ቴሌብር' }, connector: 'telebirr' };
  const paged = { ...first, ...own, channels: ['wallet'], currencies: [{ code: 'ETB' }], reconcile: false };
  return JSON.stringify({ wallets: [...walletsIn(json), paged] });
}

/** Settings of a simulator and of the processes that call it, with the same secrets. */
export function simulatedWallets(timeScale: number) {
  const secret = (): string => randomBytes(16).toString('hex');
  const credentials = (id: WalletId) => ({ client_id: id, client_secret: secret(), api_key: secret() });
  const known = { walleta: credentials('walleta'), walletb: credentials('walletb') };
  return {
    callbackKey: randomBytes(32).toString('hex'),
    simulatorSettings: {
      GATEHOUSE_SIMULATOR_PORT: '0',
      GATEHOUSE_SIMULATOR_CREDENTIALS: JSON.stringify(known),
      GATEHOUSE_SIMULATOR_TIME_SCALE: String(timeScale),
    },
    /** The secrets that the configuration names. */
    secrets: {
      WALLETA_CLIENT_SECRET: known.walleta.client_secret,
      WALLETA_API_KEY: known.walleta.api_key,
      WALLETB_CLIENT_SECRET: known.walletb.client_secret,
      WALLETB_API_KEY: known.walletb.api_key,
    },
  };
}
