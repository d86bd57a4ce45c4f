import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { resolve } from 'node:path';
import { certificateOf, createSecurityKey } from '../../wallet-simulator/mpesa-daraja/certificate.ts';

/** The secrets of the simulated wallets, by wallet and name. */
export type WalletSecrets = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** A simulated wallet of the sandbox. The names of secrets and settings are those of its connector. */
interface DemoWallet {
  readonly id: string;
  readonly names: { readonly en: string; readonly am: string };
  readonly connector: string;
  readonly channels: readonly string[];
  /** ISO 4217 codes; those of the deployment when undefined. */
  readonly currencies?: readonly object[];
  readonly phonePrefixes: readonly string[];
  readonly reconcile: boolean;
  readonly makeSecrets: (make: () => string, makeUuid: () => string) => Readonly<Record<string, string>>;
  /** The simulator's side. */
  readonly credentials: (secrets: Readonly<Record<string, string>>) => Readonly<Record<string, unknown>>;
  /** Our side. A secret is named by `secret`. */
  readonly settings: (
    origin: string,
    secrets: Readonly<Record<string, string>>,
    secret: (name: string) => object,
  ) => Readonly<Record<string, unknown>>;
  /** The settings of payer-started payments. */
  readonly payerStarted?: Readonly<Record<string, unknown>>;
  /** The secret that its callbacks must carry. */
  readonly callbackKey?: string;
}

const gsma = {
  connector: 'gsma',
  reconcile: true,
  makeSecrets: (make: () => string) => ({ client_id: make(), client_secret: make(), api_key: make() }),
  credentials: (secrets: Readonly<Record<string, string>>) => ({ protocol: 'gsma', ...secrets }),
  settings: (
    origin: string,
    { client_id: clientId }: Readonly<Record<string, string>>,
    secret: (name: string) => object,
  ) => ({
    base_url: origin,
    client_id: clientId,
    client_secret: secret('client_secret'),
    api_key: secret('api_key'),
    payee: { type: 'accountid', id: '2999' },
  }),
  // The simulated wallets use the same key for callbacks as for requests.
  callbackKey: 'api_key',
} as const;

const mpesaShortCode = '174379';

const mpesa = {
  channels: ['ussd'],
  reconcile: false,
  // The simulator, like M-Pesa's sandbox, lets a short code register again.
  payerStarted: { paybill: mpesaShortCode, register_at_start: true },
  makeSecrets: (make: () => string) => ({
    consumer_key: make(),
    consumer_secret: make(),
    passkey: make(),
    initiator_password: make(),
    security_key: createSecurityKey(),
  }),
} as const;
const mpesaAccount = { short_code: mpesaShortCode, initiator_name: 'gatehouse' };
const mpesaSettings: DemoWallet['settings'] = (origin, secrets, secret) => ({
  ...mpesaAccount,
  base_url: origin,
  consumer_key: secrets['consumer_key'],
  consumer_secret: secret('consumer_secret'),
  passkey: secret('passkey'),
  initiator_password: secret('initiator_password'),
  certificate_pem: certificateOf(secrets['security_key'] ?? ''),
});

const logoFolder = resolve(import.meta.dirname, '../../../deploy/wallets/logos');

const telebirrAccount = { merchant_app_id: '1234567890123456', merchant_code: '200001' };

const newPrivateKey = (): string =>
  generateKeyPairSync('rsa', { modulusLength: 2048 })
    .privateKey.export({ type: 'pkcs8', format: 'der' })
    .toString('base64');

const publicHalf = (privateKey = ''): string =>
  createPublicKey(createPrivateKey({ key: Buffer.from(privateKey, 'base64'), format: 'der', type: 'pkcs8' }))
    .export({ type: 'spki', format: 'der' })
    .toString('base64');

const demoWallets: readonly DemoWallet[] = [
  {
    ...gsma,
    id: 'walleta',
    names: { en: 'Wallet A', am: 'ዋሌት ኤ' },
    channels: ['wallet', 'ussd'],
    phonePrefixes: ['+2519'],
  },
  {
    ...gsma,
    id: 'walletb',
    names: { en: 'Wallet B', am: 'ዋሌት ቢ' },
    channels: ['ussd'],
    phonePrefixes: ['+2517'],
  },
  {
    id: 'telebirr',
    names: { en: 'telebirr', am: 'ቴሌብር' },
    connector: 'telebirr',
    channels: ['wallet'],
    currencies: [{ code: 'ETB' }],
    phonePrefixes: [],
    reconcile: false,
    makeSecrets: (make, makeUuid) => ({
      fabric_app_id: makeUuid(),
      app_secret: make(),
      private_key: newPrivateKey(),
      telebirr_private_key: newPrivateKey(),
    }),
    credentials: ({ private_key: privateKey, ...secrets }) => ({
      protocol: 'telebirr',
      ...telebirrAccount,
      ...secrets,
      merchant_public_key: publicHalf(privateKey),
    }),
    settings: (origin, secrets, secret) => ({
      ...telebirrAccount,
      base_url: `${origin}/apiaccess/payment/gateway`,
      checkout_url: `${origin}/payment/web/paygate?`,
      fabric_app_id: secrets['fabric_app_id'],
      app_secret: secret('app_secret'),
      private_key: secret('private_key'),
      telebirr_public_key: publicHalf(secrets['telebirr_private_key']),
    }),
  },
  {
    ...mpesa,
    id: 'mpesa',
    names: { en: 'M-Pesa', am: 'ኤም-ፔሳ' },
    connector: 'mpesa-daraja',
    currencies: [{ code: 'KES', least_amount: '1', greatest_amount: '250000', decimals: 0 }],
    phonePrefixes: ['+2547', '+2541'],
    credentials: (secrets) => ({ protocol: 'mpesa-daraja', ...mpesaAccount, ...secrets }),
    settings: mpesaSettings,
  },
  {
    ...mpesa,
    id: 'mpesaet',
    names: { en: 'M-Pesa Ethiopia', am: 'ኤም-ፔሳ ኢትዮጵያ' },
    connector: 'mpesa-ethiopia',
    currencies: [{ code: 'ETB', decimals: 0 }],
    phonePrefixes: [],
    credentials: (secrets) => ({ protocol: 'mpesa-ethiopia', ...mpesaAccount, ...secrets }),
    settings: mpesaSettings,
  },
  {
    id: 'mtn',
    names: { en: 'MTN MoMo', am: 'ኤምቲኤን ሞሞ' },
    connector: 'mtn-momo',
    channels: ['ussd'],
    // As in MTN's own sandbox.
    currencies: [{ code: 'EUR' }],
    phonePrefixes: ['+46733'],
    reconcile: false,
    makeSecrets: (make, makeUuid) => ({
      collection_subscription_key: make(),
      collection_api_user: makeUuid(),
      collection_api_key: make(),
      disbursement_subscription_key: make(),
      disbursement_api_user: makeUuid(),
      disbursement_api_key: make(),
    }),
    credentials: (secrets) => ({ protocol: 'mtn-momo', ...secrets }),
    settings: (origin, secrets, secret) => ({
      base_url: origin,
      target_environment: 'sandbox',
      collection_subscription_key: secret('collection_subscription_key'),
      collection_api_user: secrets['collection_api_user'],
      collection_api_key: secret('collection_api_key'),
      disbursement_subscription_key: secret('disbursement_subscription_key'),
      disbursement_api_user: secrets['disbursement_api_user'],
      disbursement_api_key: secret('disbursement_api_key'),
    }),
  },
];

/** The currencies of the demo: core's default ones, and those of the simulated wallets that take none of these. */
export const demoCurrencies = 'ETB,USD,KES,EUR';

/** The secrets of all simulated wallets. Secrets of an earlier start are kept. */
export function completeWalletSecrets(
  known: WalletSecrets,
  make: () => string,
  makeUuid: () => string,
): { readonly secrets: WalletSecrets; readonly isComplete: boolean } {
  const missing = demoWallets.filter(({ id }) => known[id] === undefined);
  const made = missing.map((wallet) => [wallet.id, wallet.makeSecrets(make, makeUuid)] as const);
  return { secrets: { ...known, ...Object.fromEntries(made) }, isComplete: missing.length === 0 };
}

const secretsOf = (secrets: WalletSecrets, { id }: DemoWallet): Readonly<Record<string, string>> =>
  secrets[id] ?? {};

const variableOf = (wallet: string, name: string): string =>
  `GATEHOUSE_${wallet.toUpperCase()}_${name.toUpperCase()}`;

/** The configuration of the simulated wallets of the sandbox, as JSON for GATEHOUSE_WALLETS. */
export function demoWalletsJson(
  simulatorUrl: string,
  secrets: WalletSecrets,
  currencies = 'ETB,USD',
): string {
  const codes = currencies.split(',').map((code) => ({ code: code.trim() }));
  const wallets = demoWallets.map((wallet) => {
    const { id, names, connector, channels, phonePrefixes, reconcile, payerStarted, callbackKey } = wallet;
    const secret = (name: string) => ({ secret: variableOf(id, name) });
    const sandbox = {
      settings: wallet.settings(`${simulatorUrl}/${id}`, secretsOf(secrets, wallet), secret),
      ...(callbackKey === undefined ? {} : { callbacks: { api_key: secret(callbackKey) } }),
      ...(payerStarted === undefined ? {} : { payer_started: payerStarted }),
    };
    return {
      id,
      names,
      logo: resolve(logoFolder, `${id}.svg`),
      connector,
      channels,
      currencies: wallet.currencies ?? codes,
      phone_prefixes: phonePrefixes,
      reconcile,
      environments: { sandbox },
    };
  });
  return JSON.stringify({ wallets });
}

/** The secrets of the simulated wallets, as variables of the wallets process. */
export const demoWalletVariables = (secrets: WalletSecrets): Readonly<Record<string, string>> =>
  Object.fromEntries(
    demoWallets.flatMap((wallet) =>
      Object.entries(secretsOf(secrets, wallet)).map(([name, text]) => [variableOf(wallet.id, name), text]),
    ),
  );

/** The simulator's side, as JSON for GATEHOUSE_SIMULATOR_CREDENTIALS. */
export const simulatorCredentialsJson = (secrets: WalletSecrets): string =>
  JSON.stringify(
    Object.fromEntries(
      demoWallets.map((wallet) => [wallet.id, wallet.credentials(secretsOf(secrets, wallet))]),
    ),
  );

/** The connection data of each simulated wallet, for demo.json: its address, and everything that the protocol asks for. */
export const walletAccess = (simulatorUrl: string, secrets: WalletSecrets) =>
  Object.fromEntries(
    demoWallets.map((wallet) => {
      const own = secretsOf(secrets, wallet);
      const settings = wallet.settings(`${simulatorUrl}/${wallet.id}`, own, () => ({}));
      const plain = Object.entries(settings).map(([name, value]) => [name, own[name] ?? value]);
      return [wallet.id, { connector: wallet.connector, ...Object.fromEntries(plain) }];
    }),
  );
