import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { SettingsError } from '../../../src/platform/settings/read-settings.ts';
import { readCheckoutSettings } from '../../../src/checkout/settings.ts';
import { readCliSettings } from '../../../src/cli/settings.ts';
import { readCoreSettings } from '../../../src/core/settings.ts';
import { readLocalSettings } from '../../../src/main/local/settings.ts';
import { readRestFacadeSettings } from '../../../src/rest-facade/settings.ts';
import { readWalletsSettings } from '../../../src/wallets/settings.ts';
import { readWebhooksSettings } from '../../../src/webhooks/settings.ts';
import { certificatePathsOf, serverCertificatePathsOf } from '../../../src/platform/tls/tls-settings.ts';
import type { ProcessEnvironment } from '../../../src/platform/settings/read-settings.ts';

const token = '0123456789abcdef01234567';
const core = {
  GATEHOUSE_DATABASE_URL: 'postgres://gatehouse@127.0.0.1/gatehouse',
  GATEHOUSE_NATS_URL: 'nats://127.0.0.1:4222',
  GATEHOUSE_MASTER_KEY: 'ab'.repeat(32),
  GATEHOUSE_SERVICE_TOKENS: `facade:${token}`,
};
const facade = { GATEHOUSE_SERVICE_TOKEN: token };
const wallets = {
  GATEHOUSE_NATS_URL: core.GATEHOUSE_NATS_URL,
  GATEHOUSE_SERVICE_TOKEN: token,
  GATEHOUSE_WALLET_CALLBACK_KEY: 'ab'.repeat(32),
};
const webhooks = {
  GATEHOUSE_DATABASE_URL: core.GATEHOUSE_DATABASE_URL,
  GATEHOUSE_NATS_URL: core.GATEHOUSE_NATS_URL,
  GATEHOUSE_SERVICE_TOKEN: token,
  GATEHOUSE_SERVICE_TOKENS: `operator:${token}`,
  GATEHOUSE_WEBHOOK_SECRET_KEYS: `first:${'ab'.repeat(32)}`,
};

const readers = {
  core: (own: ProcessEnvironment): object => readCoreSettings({ ...core, ...own }),
  'rest-facade': (own: ProcessEnvironment): object => readRestFacadeSettings({ ...facade, ...own }),
  checkout: (own: ProcessEnvironment): object => readCheckoutSettings({ ...facade, ...own }),
  wallets: (own: ProcessEnvironment): object => readWalletsSettings({ ...wallets, ...own }),
  webhooks: (own: ProcessEnvironment): object => readWebhooksSettings({ ...webhooks, ...own }),
  cli: (own: ProcessEnvironment): object => readCliSettings(own),
  local: (own: ProcessEnvironment): object => readLocalSettings(own),
};
type ProcessName = keyof typeof readers;

function problemsOf(read: () => unknown): string[] {
  try {
    read();
  } catch (error) {
    if (error instanceof SettingsError) return error.message.split('\n');
    throw error;
  }
  return [];
}

/** The ports: their process, which may be the local start too, and the documented default. */
const ports = [
  ['GATEHOUSE_CORE_GRPC_PORT', 'core', 50051],
  ['GATEHOUSE_CORE_CONNECT_PORT', 'core', 50052],
  ['GATEHOUSE_REST_PRODUCTION_PORT', 'rest-facade', 8080],
  ['GATEHOUSE_REST_SANDBOX_PORT', 'rest-facade', 8081],
  ['GATEHOUSE_CHECKOUT_PORT', 'local', 8082],
  ['GATEHOUSE_POSTGRES_PORT', 'local', 5433],
  ['GATEHOUSE_NATS_PORT', 'local', 4222],
] as const;
test.each(ports)(
  '%s of %s is a port from 0 to 65535, and has its documented default',
  (name, owner, standard) => {
    for (const process of [owner, 'local'] as const) {
      const taken = { '': standard, '0': 0, '1': 1, '65535': 65535 };
      expect(readers[process]({})).toMatchObject({ [name]: standard });
      for (const [text, value] of Object.entries(taken))
        expect(readers[process]({ [name]: text })).toMatchObject({ [name]: value });
      for (const text of ['65536', '-1', '80.5', '0x50', 'http', ' 80', '1e3', '99999999999'])
        expect(problemsOf(() => readers[process]({ [name]: text }))).toEqual([
          `${name} must be a port from 0 to 65535 (0 selects any free port)`,
        ]);
    }
  },
);

/** Every other setting: the values that texts are read as, and the texts that are refused. */
interface Setting {
  readonly name: string;
  readonly of: ProcessName;
  readonly standard?: unknown;
  readonly good: Readonly<Record<string, unknown>>;
  readonly bad: readonly string[];
  readonly advice: RegExp;
}
const levels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace'];
const settings: readonly Setting[] = [
  {
    ...{ name: 'GATEHOUSE_LOG_LEVEL', of: 'core', standard: 'info' },
    good: Object.fromEntries(levels.map((level) => [level, level])),
    bad: ['INFO', 'verbose', '30'],
    advice: /fatal,error,warn,info,debug,trace/,
  },
  {
    ...{ name: 'GATEHOUSE_HOST', of: 'core', standard: '127.0.0.1' },
    good: { '0.0.0.0': '0.0.0.0', '::': '::', 'core-1.internal': 'core-1.internal', localhost: '127.0.0.1' },
    bad: ['http://127.0.0.1', '127.0.0.1:8080', '10.0.0.0/8', 'a b'],
    advice: /must be an IP address or a host name, without a port/,
  },
  {
    ...{ name: 'GATEHOUSE_DATABASE_URL', of: 'core' },
    good: {
      'postgresql://a:b@db:5432/x?sslmode=require': 'postgresql://a:b@db:5432/x?sslmode=require',
      'postgres://db/x/': 'postgres://db/x',
      'postgres://a:b@%2Frun%2Fpostgresql:5432/x': 'postgres://a:b@%2Frun%2Fpostgresql:5432/x',
    },
    bad: ['mysql://db/x', 'db', 'http://db/x', 'postgres:'],
    advice: /must be a URL starting with postgres:\/\/ or postgresql:\/\//,
  },
  {
    ...{ name: 'GATEHOUSE_DATABASE_URL', of: 'core' },
    good: { 'postgres://a:b%23%2F@db/x': 'postgres://a:b%23%2F@db/x' },
    bad: [
      ...['postgres://a:b#c@db/x', 'postgres://a:b/c@db/x', 'postgres://a:b@/x?host=/run/postgresql'],
      // With digits or another @ before it, the character ends a host that the URL does not have.
      ...[
        'postgres://a:1#c@db/x',
        'postgres://a:1/c@db/x',
        'postgres://a:1?c@db/x',
        'postgres://a:b@c#d@db/x',
      ],
      ...['postgres://a:b%@db/x', 'postgres://a:b%c@db/x'],
    ],
    advice: /is not a valid URL\. In a user name or password, write \/ as %2F/,
  },
  {
    ...{ name: 'GATEHOUSE_DATABASE_URL', of: 'webhooks' },
    good: { 'postgres://%2Frun/x?sslmode=disable': 'postgres://%2Frun/x?sslmode=disable' },
    bad: ['postgres://a:b@%2Frun%2Fpostgresql/x?sslmode=require'],
    advice: /PostgreSQL has no TLS on a Unix socket\. Remove sslmode/,
  },
  {
    ...{ name: 'GATEHOUSE_DATABASE_URL', of: 'webhooks' },
    good: { 'postgres://db/x?application_name=mine': 'postgres://db/x?application_name=mine' },
    bad: [
      'postgres:///x?host=/run/postgresql',
      'postgres://db/x?user=a&password=b',
      'postgres://db/x?port=6432',
      'postgres://db/x?target_session_attrs=read-write',
    ],
    advice:
      /after the question mark, where it has no effect\. Write postgres:\/\/user:password@host:port\/database/,
  },
  {
    ...{ name: 'GATEHOUSE_NATS_URL', of: 'core' },
    good: { 'tls://nats.example:4222': 'tls://nats.example:4222' },
    bad: ['nats', '127.0.0.1:4222', 'ws://127.0.0.1'],
    advice: /must be a URL starting with nats:\/\/ or tls:\/\//,
  },
  {
    ...{ name: 'GATEHOUSE_WAITING_REQUESTS', of: 'rest-facade', standard: 20_000 },
    good: { '2': 2, '100000': 100_000 },
    bad: ['1', '0', '-1', '1e3', 'many'],
    advice: /must be a whole number from 2 to 9999999/,
  },
  {
    ...{ name: 'GATEHOUSE_MASTER_KEY', of: 'core' },
    good: { ['AB'.repeat(32)]: Buffer.alloc(32, 0xab) },
    bad: ['ab'.repeat(31), 'ab'.repeat(33), 'xy'.repeat(32), ` ${'ab'.repeat(32)}`],
    advice: /64 hexadecimal digits.*openssl rand -hex 32/,
  },
  {
    ...{ name: 'GATEHOUSE_SERVICE_TOKENS', of: 'core' },
    good: {
      [`reader:${token}, writer:${token}1`]: ['reader', 'writer'].map((role) =>
        expect.objectContaining({ role }),
      ),
    },
    bad: ['reader', `king:${token}`, 'reader:short', `reader:${token},`],
    advice: /entry \d (must be role:token|needs a token)/,
  },
  {
    ...{ name: 'GATEHOUSE_CHECKOUT_BASE_URL', of: 'core', standard: 'http://127.0.0.1:8082' },
    good: { 'https://pay.example/': 'https://pay.example' },
    bad: ['pay.example', 'ftp://pay.example', 'javascript:alert(1)'],
    advice: /must be a URL starting with http:\/\/ or https:\/\//,
  },
  ...(
    [
      ['GATEHOUSE_CHECKOUT_BASE_URL', 'checkout'],
      ['GATEHOUSE_WALLET_CALLBACK_BASE_URL', 'wallets'],
      ['GATEHOUSE_REST_PRODUCTION_URL', 'rest-facade'],
    ] as const
  ).map(([name, of]): Setting => ({
    ...{ name, of, good: { 'https://pay.example/a/': 'https://pay.example/a' } },
    bad: [
      'https://pay.example ',
      'https://pay.example\n',
      'https://pay.example/?x=1',
      'https://pay.example#a',
    ],
    advice: /must have no blanks, no \? and no #, because paths are appended to it/,
  })),
  ...(['rest-facade', 'cli'] as const).map((of): Setting => ({
    ...{ name: 'GATEHOUSE_SERVICE_TOKEN', of, good: { [token]: token } },
    bad: [`${token}\n`, `${token} `, `“${token}”`, `${token}\t`],
    advice: /has characters that a header cannot carry/,
  })),
  {
    ...{ name: 'GATEHOUSE_TIME_ZONE', of: 'checkout', standard: 'Africa/Addis_Ababa' },
    good: { 'europe/berlin': 'Europe/Berlin', UTC: 'UTC' },
    bad: ['Addis Ababa', 'EAT+3', 'local'],
    advice: /must be the name of a time zone such as Africa\/Addis_Ababa or UTC/,
  },
  {
    ...{ name: 'GATEHOUSE_CURRENCIES', of: 'core' },
    good: { KES: ['KES'], 'ETB, EUR': ['ETB', 'EUR'] },
    bad: ['etb', 'ETB,', 'ETB;USD', 'BIRR'],
    advice: /must be ISO 4217 codes separated by commas, such as ETB,USD/,
  },
  {
    ...{ name: 'GATEHOUSE_REQUIRED_CERTIFICATION', of: 'core', standard: [] },
    good: { receiver: ['receiver'], 'integration, receiver': ['receiver', 'integration'] },
    bad: ['yes', 'receiver,', 'receiver,receiver', 'Receiver'],
    advice: /must be receiver, integration, or receiver,integration/,
  },
  {
    ...{ name: 'GATEHOUSE_DATABASE_POOL_SIZE', of: 'core', standard: 12 },
    good: { '3': 3, '100': 100 },
    bad: ['0', '2', '-1', '1.5', 'many'],
    advice: /must be a whole number from 3 to 9999/,
  },
  {
    ...{ name: 'GATEHOUSE_DATABASE_POOL_SIZE', of: 'webhooks', standard: 12 },
    good: { '6': 6, '100': 100 },
    bad: ['0', '5', '1.5', 'many'],
    advice: /must be a whole number from 6 to 9999/,
  },
  {
    ...{ name: 'GATEHOUSE_WEBHOOK_RETENTION_DAYS', of: 'webhooks', standard: 90 },
    good: { '7': 7 },
    bad: ['0', '6', 'a year'],
    advice: /must be a number of days, 7 or more/,
  },
  {
    ...{ name: 'GATEHOUSE_PERSONAL_DATA_DAYS', of: 'core', standard: 0 },
    good: { '0': 0, '30': 30, '36500': 36_500 },
    bad: ['1', '29', '36501', '-1', 'never'],
    advice: /must be a number of days from 30 to 36500, or 0 to keep personal data for ever/,
  },
  {
    ...{ name: 'GATEHOUSE_WEBHOOK_SECRET_KEYS', of: 'webhooks' },
    good: { [`b:${'0'.repeat(64)}`]: [{ name: 'b', key: Buffer.alloc(32) }] },
    bad: ['a:b', `a:${'0'.repeat(63)}`, `a:${'0'.repeat(64)},a:${'1'.repeat(64)}`],
    advice: /openssl rand -hex 32|two keys of the same name|is not set/,
  },
  {
    ...{ name: 'GATEHOUSE_WALLET_ACCOUNT_KEYS', of: 'core' },
    good: {
      [`master,b:${'0'.repeat(64)}`]: [
        { name: 'master', key: undefined },
        { name: 'b', key: Buffer.alloc(32) },
      ],
    },
    bad: ['other', 'master,master'],
    advice: /openssl rand -hex 32|two keys of the same name/,
  },
  {
    ...{ name: 'GATEHOUSE_RATE_LIMIT_PER_KEY', of: 'rest-facade', standard: 1000 },
    good: { '0': 0, '5': 5 },
    bad: ['-1', '1.5', 'off', '9999999999'],
    advice: /must be a whole number, 0 or more/,
  },
  {
    ...{ name: 'GATEHOUSE_CORE_ADDRESSES', of: 'rest-facade', standard: ['127.0.0.1:50051'] },
    good: {
      'core:50051': ['core:50051'],
      'dns:///core:50051': ['dns:///core:50051'],
      '10.0.0.1:1, 10.0.0.2:65535': ['10.0.0.1:1', '10.0.0.2:65535'],
      'localhost:1,127.0.0.1:2': ['localhost:1', '127.0.0.1:2'],
      '[::1]:1,[fe80::1]:2': ['[::1]:1', '[fe80::1]:2'],
    },
    bad: [
      ...['core', 'core:', ':50051', 'http://core:50051', 'core:0', 'core:65536', 'core:50051,', '::1:50051'],
      'a b:1',
    ],
    advice: /must be host:port, or several separated by commas/,
  },
  {
    ...{ name: 'GATEHOUSE_TRUSTED_PROXIES', of: 'rest-facade' },
    good: {
      '10.0.0.1': ['10.0.0.1'],
      '10.0.0.0/8, 192.0.2.1/32': ['10.0.0.0/8', '192.0.2.1/32'],
      '::/0,::1/128': ['::/0', '::1/128'],
    },
    bad: ['proxy', '10.0.0.0/33', '::1/129', '10.0.0.0/', '10.0.0.0/8/8', '10.0.0/8', '10.0.0.1,'],
    advice: /must be IP addresses or networks separated by commas, such as 10\.0\.0\.0\/8/,
  },
  {
    ...{ name: 'GATEHOUSE_DASHBOARD_BASE_URL', of: 'cli' },
    good: {
      'https://pay.example': 'https://pay.example',
      'http://127.0.0.1:8083/': 'http://127.0.0.1:8083',
    },
    bad: [
      ...['pay.example', 'ftp://pay.example', 'https://pay.example/dashboard', 'https://pay.example?a'],
      'https://user@pay.example',
    ],
    advice: /must be https:\/\/<host> or http:\/\/<host>, with a port or without, and without a path/,
  },
];
describe.each(settings)('$name of $of', ({ name, of: process, standard, good, bad, advice }) => {
  test.each(Object.entries(good))('accepts "%s"', (text, value) => {
    expect(readers[process]({ [name]: text })).toMatchObject({ [name]: value });
  });

  test.each(bad)('refuses "%s", with its name and what it accepts', (text) => {
    const problems = problemsOf(() => readers[process]({ [name]: text }));
    expect(problems).toEqual([expect.stringMatching(advice)]);
    expect(problems[0]).toMatch(new RegExp(`^${name} `));
  });

  if (standard !== undefined)
    test('has its documented default, even when it is empty', () => {
      for (const own of [{}, { [name]: '' }])
        expect(readers[process](own)).toMatchObject({ [name]: standard });
    });
});

describe.each([
  ['core', Object.keys(core), readCoreSettings],
  ['rest-facade', Object.keys(facade), readRestFacadeSettings],
] as const)('the required settings of %s', (_process, names, read) => {
  test('are all named at once when they are missing, with what they accept', () => {
    const problems = problemsOf(() => read({}));
    expect(problems.map((problem) => problem.split(' ')[0]).sort()).toEqual([...names].sort());
    for (const problem of problems) expect(problem).toMatch(/^\S+ is not set: .{10,}/);
  });

  test('are missing when they are empty', () => {
    const empty = Object.fromEntries(names.map((name) => [name, '']));
    expect(problemsOf(() => read(empty))).toEqual(problemsOf(() => read({})));
  });
});

test('several invalid settings are named together with the missing ones, one per line', () => {
  const problems = problemsOf(() =>
    readCoreSettings({
      ...core,
      GATEHOUSE_CORE_GRPC_PORT: 'x',
      GATEHOUSE_CURRENCIES: 'x',
      GATEHOUSE_NATS_URL: '',
    }),
  );
  expect(problems.map((problem) => problem.split(' ')[0]).sort()).toEqual([
    'GATEHOUSE_CORE_GRPC_PORT',
    'GATEHOUSE_CURRENCIES',
    'GATEHOUSE_NATS_URL',
  ]);
});

test.each(['one:50051,two:50051', '10.0.0.1:1,[::1]:2', '10.0.0.1:1,core:2'])(
  'several addresses of kinds that gRPC cannot list (%s) are refused with an alternative',
  (text) => {
    expect(problemsOf(() => readers['rest-facade']({ GATEHOUSE_CORE_ADDRESSES: text }))).toEqual([
      expect.stringMatching(/give one name that DNS resolves to all of them, such as dns:\/\/\/core:50051/),
    ]);
  },
);

describe('the settings of TLS', () => {
  const [ca, certificate, key] = [
    { GATEHOUSE_TLS_CA_FILE: 'ca.crt' },
    { GATEHOUSE_TLS_CERTIFICATE_FILE: 'tls.crt' },
    { GATEHOUSE_TLS_KEY_FILE: 'tls.key' },
  ];
  const own = { ca: 'ca.crt', own: { certificate: 'tls.crt', key: 'tls.key' } };
  const asked = { GATEHOUSE_TLS_CLIENT_CERTIFICATES: 'optional' };
  const domain = { GATEHOUSE_TLS_TRUST_DOMAIN: 'pay.example' };
  const pathsOrProblem = (read: () => unknown): unknown => {
    const problems = problemsOf(read);
    return problems.length > 0 ? problems.join('\n') : read();
  };

  test.each<[string, ProcessEnvironment, unknown, unknown]>([
    ['nothing', {}, undefined, undefined],
    ['all three files', { ...ca, ...certificate, ...key }, own, own],
    ['an authority', ca, { ca: 'ca.crt', own: undefined }, /needs a certificate of its own/],
    ['no key', { ...ca, ...certificate }, /belong together/, /belong together/],
    ['no certificate', { ...ca, ...key }, /belong together/, /belong together/],
    ['no authority', { ...certificate, ...key }, /CA_FILE is not set/, /CA_FILE is not set/],
    ['certificates of clients', { ...ca, ...certificate, ...key, ...asked, ...domain }, own, own],
    ['certificates of clients without TLS', asked, undefined, /has no effect without TLS/],
    ['a trust domain alone', { ...ca, ...certificate, ...key, ...domain }, own, /DOMAIN has no effect while/],
  ])('with %s give a client and a server their files, or are refused', (_what, given, client, server) => {
    const read = readCoreSettings({ ...core, ...given });
    const found = [
      pathsOrProblem(() => certificatePathsOf(read)),
      pathsOrProblem(() => serverCertificatePathsOf(read)),
    ];
    expect(found).toEqual(
      [client, server].map((each) => (each instanceof RegExp ? expect.stringMatching(each) : each)),
    );
  });

  test('make tokens needless only where certificates can take their place', () => {
    const { GATEHOUSE_SERVICE_TOKENS: _tokens, ...withoutTokens } = core;
    const missing = (given: ProcessEnvironment) =>
      problemsOf(() => readCoreSettings({ ...withoutTokens, ...given })).map((each) => each.split(' ')[0]);
    const missingOfClient = (given: ProcessEnvironment) =>
      problemsOf(() => readRestFacadeSettings(given)).map((each) => each.split(' ')[0]);

    expect([missing(domain), missing({ ...ca, ...certificate, ...key, ...asked })]).toEqual([
      [],
      ['GATEHOUSE_SERVICE_TOKENS'],
    ]);
    expect([missingOfClient({ ...certificate, ...key }), missingOfClient(ca)]).toEqual([
      [],
      ['GATEHOUSE_SERVICE_TOKEN'],
    ]);
  });
});

describe('a setting in a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-settings-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const fileOf = (text: string): string => {
    const path = join(folder, String(text.length));
    writeFileSync(path, text);
    return path;
  };

  test.each([
    ['the line break at its end', `${'cd'.repeat(32)}\n`],
    ['what an editor of Windows adds', `\uFEFF${'cd'.repeat(32)}\r\n`],
  ])('is read without %s, and the variable takes precedence', (_what, text) => {
    const file = fileOf(text);
    const inFile = { ...core, GATEHOUSE_MASTER_KEY: '', GATEHOUSE_MASTER_KEY_FILE: file };
    expect(readCoreSettings(inFile).GATEHOUSE_MASTER_KEY).toEqual(Buffer.alloc(32, 0xcd));
    const inBoth = { ...core, GATEHOUSE_MASTER_KEY_FILE: file };
    expect(readCoreSettings(inBoth).GATEHOUSE_MASTER_KEY).toEqual(Buffer.alloc(32, 0xab));
  });

  test('is refused like any other, and an unreadable or empty file is named with the rest', () => {
    const problems = problemsOf(() =>
      readCoreSettings({
        GATEHOUSE_MASTER_KEY_FILE: fileOf('canary\n'),
        GATEHOUSE_DATABASE_URL_FILE: join(folder, 'absent'),
        GATEHOUSE_NATS_URL_FILE: fileOf('\n'),
        GATEHOUSE_SERVICE_TOKENS: `facade:${token}`,
      }),
    );
    expect(problems).toEqual([
      expect.stringMatching(/^GATEHOUSE_MASTER_KEY must be 64 hexadecimal digits/),
      'GATEHOUSE_NATS_URL is not set: the file that GATEHOUSE_NATS_URL_FILE names is empty',
      'GATEHOUSE_DATABASE_URL is not set: the file that GATEHOUSE_DATABASE_URL_FILE names cannot be read (ENOENT)',
    ]);
    expect(problems.join('')).not.toContain('canary');
  });

  test('is not the file of GATEHOUSE_WALLETS_FILE, which is a setting of its own', () => {
    const read = readCoreSettings({ ...core, GATEHOUSE_WALLETS_FILE: join(folder, 'absent') });
    expect(read).toMatchObject({
      GATEHOUSE_WALLETS: undefined,
      GATEHOUSE_WALLETS_FILE: join(folder, 'absent'),
    });
  });
});

test('no message repeats a refused secret', () => {
  const problems = problemsOf(() =>
    readCoreSettings({
      ...core,
      GATEHOUSE_MASTER_KEY: 'canary-master',
      GATEHOUSE_SERVICE_TOKENS: 'canary-role:canary-token',
      GATEHOUSE_DATABASE_URL: 'mysql://user:canary-password@db',
    }),
  );
  expect(problems).toHaveLength(3);
  expect(problems.join('\n')).not.toContain('canary');
});

test('the command line needs no setting, and ignores those of other programs', () => {
  expect(readCliSettings({ GATEHOUSE_NATS_URL: 'nonsense', PATH: '/bin' })).toMatchObject({
    GATEHOUSE_CORE_ADDRESSES: undefined,
    GATEHOUSE_SERVICE_TOKEN: undefined,
    GATEHOUSE_DATA_DIR: '.gatehouse',
  });
});
