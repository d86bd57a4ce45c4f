import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { readWallets } from '../../../src/contract/wallets-file/read-wallets-file.ts';
import type { ConfiguredWallet } from '../../../src/contract/wallets-file/read-wallets-file.ts';
import { walletsOf } from '../../../src/core/configured-wallets.ts';
import { acceptedCurrencies, warnOfWalletsWithoutOrders } from '../../../src/main/accepted-currencies.ts';
import { opensPageOfConnector } from '../../../src/wallets/opens-page-of-connector.ts';
import { refundsOfConnector } from '../../../src/wallets/refunds-of-connector.ts';
import { statementOfConnector } from '../../../src/wallets/statement-of-connector.ts';
import { transactionIdsOfConnector } from '../../../src/wallets/transaction-ids-of-connector.ts';
import { connectorKinds } from '../../../src/wallets/connector-kinds.ts';
import { merchantFields } from '../../../src/wallets/merchant-account.ts';
import { walletSettings } from '../../../src/wallets/wallet-settings.ts';
import { keptLog } from '../../support/kept-log.ts';

const secret = 'very-secret-value-of-sixteen';
const variables = { CLIENT_SECRET: secret, API_KEY: secret };
const settings = {
  base_url: 'https://wallet.example/api',
  client_id: 'shop',
  client_secret: { secret: 'CLIENT_SECRET' },
  api_key: { secret: 'API_KEY' },
  payee: { type: 'accountid', id: '2999' },
};
const wallet = {
  id: 'walleta',
  names: { en: 'Wallet A', am: 'ዋሌት ኤ' },
  connector: 'gsma',
  channels: ['ussd', 'wallet'],
  currencies: [{ code: 'ETB', least_amount: '1', greatest_amount: '75000', decimals: 2 }],
  environments: { sandbox: { settings } },
};
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-wallets-'));
afterAll(() => rmSync(folder, { recursive: true }));

const fileOf = (name: string, content: string | Uint8Array): string => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};
const domainWallets = (configured: readonly ConfiguredWallet[]) =>
  walletsOf(
    configured,
    refundsOfConnector,
    statementOfConnector,
    transactionIdsOfConnector,
    opensPageOfConnector,
  );
/** The result of a file in core and in the wallets process. */
const readFile = (file: string) => {
  const wallets = readWallets({ file, json: undefined });
  return {
    core: domainWallets(wallets),
    connected: walletSettings(wallets, connectorKinds, variables),
  };
};
const read = (...wallets: readonly object[]) =>
  readFile(fileOf('wallets.json', JSON.stringify({ wallets }, null, 2)));
const different = (own: object): object => ({ ...wallet, ...own });
const inSandbox = (own: object): object => different({ environments: { sandbox: { settings, ...own } } });
const withSettings = (own: object): object => inSandbox({ settings: { ...settings, ...own } });

const mpesa = (own: object, ownSettings: object = {}): object =>
  different({
    connector: 'mpesa-daraja',
    currencies: [{ code: 'KES', decimals: 0 }],
    environments: {
      sandbox: {
        settings: {
          base_url: 'https://sandbox.safaricom.co.ke',
          consumer_key: 'key',
          consumer_secret: { secret: 'CLIENT_SECRET' },
          short_code: '174379',
          passkey: { secret: 'API_KEY' },
          initiator_name: 'api',
          initiator_password: { secret: 'API_KEY' },
          certificate_pem: 'a certificate',
          ...ownSettings,
        },
      },
    },
    ...own,
  });

const sandbox = 'wallets[1].environments.sandbox';
const etb = { code: 'ETB' };
const ofCurrency = (own: object): object => ({ currencies: [{ ...etb, ...own }] });

type Wrong = [name: string, wallet: object, place: string];
/** Wallets with these mistakes, each at a place below this one. */
const at = (place: string, walletWith: (own: object) => object, mistakes: readonly Wrong[]): Wrong[] =>
  mistakes.map(([name, own, problem]) => [name, walletWith(own), place + problem]);

describe('the configured wallets', () => {
  test('are reconciled when the settings give a statement', () => {
    const { connected, core } = read(mpesa({ reconcile: true }, { pull: true }));

    expect([connected[0]?.settings['pull'], core[0]?.reconcile]).toEqual([true, true]);
  });

  test('have an id of their own and any number of environments, and can be an empty list', () => {
    expect(read().connected).toEqual([]);

    const environments = { sandbox: { settings }, production: { settings } };
    const { core, connected } = read(
      different({ environments }),
      different({ id: 'mpesa', channels: ['ussd'] }),
    );

    expect(core).toMatchObject([
      { id: 'walleta', options: ['walleta_ussd', 'walleta_wallet'], environments: ['SANDBOX', 'PRODUCTION'] },
      { id: 'mpesa', options: ['mpesa_ussd'], environments: ['SANDBOX'] },
    ]);
    expect(core[0]?.currencies).toMatchObject([
      { currency: { code: 'ETB' }, leastMinorUnits: 100n, greatestMinorUnits: 7_500_000n, decimals: 2 },
    ]);
    expect(connected.map(({ wallet: id, environment }) => `${id} ${environment}`)).toEqual([
      'walleta sandbox',
      'walleta production',
      'mpesa sandbox',
    ]);
  });

  test('get their secrets from variables, or from the files that variables name', () => {
    const file = fileOf('api-key', `${secret}-of-a-file\n`);
    const wallets = readWallets({ file: undefined, json: JSON.stringify({ wallets: [wallet] }) });

    const [connected] = walletSettings(wallets, connectorKinds, {
      CLIENT_SECRET: secret,
      API_KEY_FILE: file,
    });

    expect(connected?.settings).toMatchObject({ client_secret: secret, api_key: `${secret}-of-a-file` });
  });

  test('take callbacks from addresses and networks of either family, with a key', () => {
    const sources = ['192.0.2.1', '10.0.0.0/8', '2001:db8::1', '2001:db8::/32'];

    const { connected } = read(inSandbox({ callbacks: { sources, api_key: { secret: 'API_KEY' } } }));

    expect(connected).toMatchObject([{ callbackSources: sources, callbackApiKey: secret }]);
  });

  test.each<Wrong>([
    ...at('wallets[1].', different, [
      ['an id in capitals', { id: 'WalletA' }, 'id: must match ^[a-z]'],
      ['an id that another has', { id: 'walletb' }, 'id: names the wallet walletb a second time'],
      ['no Amharic name', { names: { en: 'Wallet A' } }, 'names.am: is required'],
      ['an unknown connector', { connector: 'soap' }, 'connector: must be one of gsma'],
      ['no channel', { channels: [] }, 'channels: must not be empty'],
      ['an unknown channel', { channels: ['sms'] }, 'channels[0]: must be one of ussd, wallet'],
      ['no currency', { currencies: [] }, 'currencies: must not be empty'],
      ['a currency that does not exist', ofCurrency({ code: 'ETX' }), 'currencies[0].code: '],
      ['a currency twice', { currencies: [etb, etb] }, 'currencies[1].code: names ETB a second time'],
      [
        'a least amount above the greatest',
        ofCurrency({ least_amount: '10', greatest_amount: '9.99' }),
        'currencies[0].least_amount: must not be above greatest_amount',
      ],
      ['too many decimals', ofCurrency({ decimals: 3 }), 'currencies[0].decimals: must be at most 2'],
      [
        'a phone prefix without a plus',
        { phone_prefixes: ['2519'] },
        'phone_prefixes[0]: must match ^\\+[1-9][0-9]{1,11}$. Such as +2519.',
      ],
      ['a comparison that is text', { reconcile: 'yes' }, 'reconcile: must be true or false'],
      ['no environment', { environments: {} }, 'environments: must have at least one of sandbox, production'],
      [
        'an unknown environment',
        { environments: { live: { settings } } },
        'environments.live: is not a setting; the settings here are sandbox, production',
      ],
      ['a logo that does not exist', { logo: 'missing.svg' }, 'logo: the file '],
      ['an unknown field', { colour: 'red' }, 'colour: is not a setting; the settings here are id, names'],
    ]),
    ...at(`${sandbox}.settings.`, withSettings, [
      ['no base URL', { base_url: undefined }, 'base_url: is required. '],
      ['a base URL without a host', { base_url: 'http://' }, 'base_url: '],
      ['a base URL of another scheme', { base_url: 'ftp://wallet.example' }, 'base_url: '],
      ['a client id that no header can carry', { client_id: 'shop\n' }, 'client_id: '],
      ['a secret as text', { client_secret: secret }, 'client_secret: must name the environment variable'],
      ['a secret that is not set', { api_key: { secret: 'OTHER' } }, 'api_key: names OTHER, but'],
      ['a payee without an id', { payee: { type: 'accountid' } }, 'payee.id: is required'],
      ['a setting that no connector has', { colour: 'red' }, 'colour: '],
    ]),
    ...at(`${sandbox}.callbacks.`, (callbacks) => inSandbox({ callbacks }), [
      [
        'a source that is a name',
        { sources: ['127.0.0.1', 'a.example'] },
        'sources[1]: must be an IP address',
      ],
      ['a source with too many bits', { sources: ['10.0.0.0/33'] }, 'sources[0]: '],
      ['a callback key that can be guessed', { api_key: { secret: 'SHORT' } }, 'api_key: must be 16 to 256'],
    ]),
    [
      'a limit of zero requests at a time',
      inSandbox({ max_in_flight: 0 }),
      `${sandbox}.max_in_flight: must be a whole number from 1 to 500`,
    ],
    ['calls longer than a lease', inSandbox({ call_timeout_ms: 30_001 }), `${sandbox}.call_timeout_ms: `],
    [
      'a comparison of a statement that the settings do not give',
      mpesa({ reconcile: true }),
      'wallets[1].reconcile: must be absent, because mpesa-daraja has a statement only with pull: true, which the settings of sandbox lack',
    ],
    [
      'a comparison of a statement that the connector does not have',
      mpesa({ reconcile: true, connector: 'mpesa-ethiopia' }),
      'wallets[1].reconcile: must be absent, because mpesa-ethiopia has no statement',
    ],
  ])('with %s stop the process, with the position in the file', (_name, wrong, place) => {
    const file = fileOf(
      'wrong.json',
      JSON.stringify({ wallets: [different({ id: 'walletb' }), wrong] }, null, 2),
    );
    const wallets = () => {
      const configured = readWallets({ file, json: undefined });
      domainWallets(configured);
      return walletSettings(configured, connectorKinds, { ...variables, SHORT: 'fifteen-letters' });
    };

    expect(wallets).toThrow(place);
    expect(wallets).toThrow(`GATEHOUSE_WALLETS_FILE ${file}, line `);
  });

  test('have errors with the line of the mistake', () => {
    const file = fileOf('lines.json', JSON.stringify({ wallets: [different({ names: 7 })] }, null, 2));

    expect(() => readFile(file)).toThrow(`${file}, line 5: wallets[0].names: `);
  });

  test.each([
    ['', 'line 1: is not JSON (value expected)'],
    ['{\n"wallets": [}', 'line 2: is not JSON'],
    ['null', 'line 1: '],
    ['[]', 'line 1: '],
    ['{}', 'wallets: is required'],
    ['{"wallets": [null]}', 'wallets[0]: must be an object'],
  ])('%j stops the process', (text, problem) => {
    expect(() => readFile(fileOf('broken.json', text))).toThrow(problem);
  });

  test('may follow a byte order mark', () => {
    const file = fileOf('marked.json', `\uFEFF${JSON.stringify({ wallets: [wallet] })}`);

    expect(readFile(file).core).toHaveLength(1);
  });

  test('come from one readable source', () => {
    expect(() => readWallets({ file: undefined, json: undefined })).toThrow(
      'GATEHOUSE_WALLETS_FILE must name',
    );
    expect(() => readWallets({ file: 'wallets.json', json: '{}' })).toThrow('but not both');
    expect(() => readWallets({ file: join(folder, 'none.json'), json: undefined })).toThrow(
      'cannot be read (ENOENT)',
    );
  });

  test('are never repeated in an error, because they may be secret', () => {
    const wrong = [
      withSettings({ api_key: [secret] }),
      withSettings({ client_secret: 5, api_key: secret }),
      inSandbox({ callbacks: { api_key: `${secret} ` } }),
    ];

    for (const text of [...wrong.map((one) => JSON.stringify({ wallets: [one] })), `[${secret}`]) {
      let message = '';
      try {
        readFile(fileOf('secret.json', text));
      } catch (error) {
        message = String(error);
      }
      expect(message).toContain('GATEHOUSE_WALLETS_FILE');
      expect(message).not.toContain(secret);
    }
  });
});

test.each([
  { setting: undefined, accepted: ['ETB', 'USD', 'KES'], warned: undefined },
  { setting: ['ETB'], accepted: ['ETB'], warned: ['walletk KES'] },
  { setting: ['KES'], accepted: ['KES'], warned: ['walleta ETB'] },
])('with GATEHOUSE_CURRENCIES=$setting orders accept $accepted', ({ setting, accepted, warned }) => {
  const { core } = read(wallet, different({ id: 'walletk', currencies: [{ code: 'KES' }] }));
  const { log, logger } = keptLog();

  const currencies = acceptedCurrencies(setting, core);
  warnOfWalletsWithoutOrders(currencies, core, logger);

  expect([currencies, log[0]?.['wallets']]).toEqual([accepted, warned]);
});

describe('a logo', () => {
  const svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><rect width="8" height="8"/></svg>';
  const logoOf = (name: string, content: string | Uint8Array) => {
    fileOf(name, content);
    const file = fileOf('logo.json', JSON.stringify({ wallets: [different({ logo: name })] }));
    return readWallets({ file, json: undefined })[0]?.logoFile?.mediaType;
  };

  test('is an SVG or PNG file beside the configuration', () => {
    const png = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    );

    expect(logoOf('logo.svg', `<?xml version="1.0"?>\n<!-- ours -->${svg}`)).toBe('image/svg+xml');
    expect(logoOf('long.svg', `<!-- ${'-'.repeat(30_000)} -->${svg}`)).toBe('image/svg+xml');
    expect(logoOf('logo.png', png)).toBe('image/png');
  });

  test.each([
    ['another format', 'GIF89a'],
    ['a script', svg.replace('<rect', '<script>alert(1)</script><rect')],
    ['a handler', svg.replace('<rect', '<rect onload="alert(1)"')],
    ['a reference to another file', svg.replace('<rect', '<image href="https://example.com/a.png"/><rect')],
    // A pattern that lets a comment end at a later mark takes exponential time for it.
    ['a hundred comments and no image', '<!-- x -->'.repeat(100)],
    ['more than 32 KiB', svg.replace('</svg>', `<!--${'x'.repeat(33_000)}--></svg>`)],
  ])('with %s is refused', (_name, content) => {
    expect(() => logoOf('bad.svg', content)).toThrow('wallets[0].logo: must be ');
  });
});

test.each(connectorKinds)('the description of each setting of a merchant at $name is a sentence', (kind) => {
  // Forms and errors append a further sentence to it.
  const descriptions = merchantFields(kind).map(({ description }) => description);

  expect(descriptions.filter((description) => !description.endsWith('.'))).toEqual([]);
});
