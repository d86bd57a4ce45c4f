import { execFile, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, chown, copyFile, cp, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { promisify } from 'node:util';
import { ConnectError, createClient } from '@connectrpc/connect';
import type { Transport } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { createGrpcTransport } from '../../../src/contract/grpc-transport.ts';
import { openEventBus } from '../../../src/contract/event-bus.ts';
import { openDatabase } from '../../../src/core/database/database.ts';
import { MerchantService } from '../../../src/gen/gatehouse/v1/merchant_service_pb.js';
import { Health } from '../../../src/gen/health/v1/health_pb.js';
import { choosePorts } from '../../../src/main/local/free-port.ts';
import { findOrInstallNatsServer } from '../../../src/main/local/nats-binary.ts';
import { startTemporaryPostgres } from '../../../src/main/local/temporary-servers.ts';
import { databaseTls } from '../../../src/platform/database/database-tls.ts';
import { whatToDo } from '../../../src/platform/database/explain-error.ts';
import { writeSnapshot } from '../../../src/platform/database/snapshot/write-snapshot.ts';
import { startGrpcServer } from '../../../src/platform/rpc/grpc-server.ts';
import { openCertificateFiles } from '../../../src/platform/tls/certificate-files.ts';
import type { CertificateFiles, CertificatePaths } from '../../../src/platform/tls/certificate-files.ts';
import type { GatehouseProcess } from '../../support/gatehouse-process.ts';
import { startInline } from '../../support/inline-process.ts';
import { createPrivateAuthority } from '../../support/private-authority.ts';
import type { IssuedFiles, PrivateAuthority } from '../../support/private-authority.ts';
import { walletsOfCore } from '../../support/simulated-wallets.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { keptLog } from '../../support/kept-log.ts';
import { sharedClosers } from '../../support/shared-stack.ts';
import { connectToDatabase } from '../../support/database-connections.ts';

const spiffe = (path: string): string => `URI:spiffe://${path}`;
const loopback = 'DNS:localhost,IP:127.0.0.1';
const tokens = { operator: randomBytes(16).toString('hex'), reader: randomBytes(16).toString('hex') };
const closers = sharedClosers();
const { logger, log } = keptLog({ level: 'info' });
const isLogged = (text: string) => () => log.some((line) => JSON.stringify(line).includes(text));

let authority: PrivateAuthority;
let foreign: PrivateAuthority;
const certificates: Record<string, IssuedFiles> = {};
let core: GatehouseProcess;
let coreSettings: Record<string, string>;
let postgresUrl: URL;
let natsUrl: string;

const filesOf = (paths: CertificatePaths): CertificateFiles => {
  const files = openCertificateFiles({ paths, logger, now: () => new Date(), everyMs: 3_600_000 });
  closers.push(files.stop);
  return files;
};
const certificate = (name: string): IssuedFiles => {
  const found = certificates[name];
  if (found === undefined) throw new Error(`no certificate ${name}`);
  return found;
};

let installInPostgres: (name: string) => Promise<void>;
async function startPostgres(): Promise<URL> {
  const server = await startTemporaryPostgres();
  closers.push(server.stop);
  const superuser = await connectToDatabase(server.url);
  const { rows } = await superuser.query<{ folder: string }>(`
    select current_setting('data_directory') as folder`);
  const folder = rows[0]?.folder ?? '';
  const { uid, gid } = await stat(folder);
  installInPostgres = async (name) => {
    const { ca, own } = certificate(name);
    for (const [from, to] of [
      [ca, 'root.crt'],
      [own.certificate, 'server.crt'],
      [own.key, 'server.key'],
    ] as const) {
      await copyFile(from, join(folder, to));
      await chown(join(folder, to), uid, gid);
      await chmod(join(folder, to), 0o600);
    }
  };
  // For its address only, because the driver checks an address as the name localhost unless it is told otherwise.
  await installInPostgres('named');
  await writeFile(
    join(folder, 'pg_hba.conf'),
    'hostssl all all 127.0.0.1/32 scram-sha-256 clientcert=verify-ca\n',
  );
  await superuser.query("alter system set ssl_ca_file = 'root.crt'");
  await superuser.query('alter system set ssl = on');
  await superuser.query('select pg_reload_conf()');
  await superuser.end();
  return new URL(server.url);
}

let reloadNats: () => void;
/** The files of the broker, with the content of an issued certificate. */
async function brokerFiles(name: string) {
  const own = {
    certificate: join(authority.folder, 'broker.crt'),
    key: join(authority.folder, 'broker.key'),
  };
  await copyFile(certificate(name).own.certificate, own.certificate);
  await copyFile(certificate(name).own.key, own.key);
  return own;
}

async function startNats(): Promise<string> {
  const program = await findOrInstallNatsServer({
    report: () => undefined,
    signal: new AbortController().signal,
  });
  const [port = 0] = await choosePorts([{ setting: 'a port', host: '127.0.0.1', port: 0 }]);
  const { ca } = certificate('server');
  const own = await brokerFiles('server');
  const file = join(authority.folder, 'nats.conf');
  await writeFile(
    file,
    `host: 127.0.0.1\nport: ${port}\njetstream { store_dir: "${authority.folder}/nats" }\n` +
      `authorization { user: gatehouse, password: secret }\n` +
      `tls { cert_file: "${own.certificate}", key_file: "${own.key}", ca_file: "${ca}", verify: true }\n`,
  );
  const server = spawn(program, ['--config', file], { stdio: 'ignore' });
  reloadNats = () => server.kill('SIGHUP');
  closers.push(() => {
    const ended = new Promise((resolve) => server.once('exit', resolve));
    server.kill();
    return ended;
  });
  return `tls://gatehouse:secret@127.0.0.1:${port}`;
}

beforeAll(async () => {
  [authority, foreign] = await Promise.all([createPrivateAuthority(), createPrivateAuthority()]);
  closers.push(() => rm(authority.folder, { recursive: true }));
  closers.push(() => rm(foreign.folder, { recursive: true }));
  for (const [name, names, days] of [
    ['server', loopback, 1],
    ['renewed', loopback, 2],
    ['named', 'IP:127.0.0.1', 1],
    ['operator', spiffe('pay.example/gatehouse/operator'), 1],
    ['reader', spiffe('pay.example/gatehouse/reader'), 1],
    ['unnamed', 'DNS:somebody', 1],
    ['elsewhere', spiffe('shop.example/gatehouse/operator'), 1],
    ['unknown', spiffe('pay.example/gatehouse/emperor'), 1],
    ['double', `${spiffe('pay.example/gatehouse/operator')},${spiffe('pay.example/gatehouse/reader')}`, 1],
    ['expired', `${loopback},${spiffe('pay.example/gatehouse/operator')}`, -1],
  ] as const)
    certificates[name] = await authority.issue(name, names, days);
  certificates['stranger'] = await foreign.issue('stranger', spiffe('pay.example/gatehouse/operator'));
  // The files that core reads. They are replaced while it runs.
  for (const name of ['server.crt', 'server.key'])
    await cp(join(authority.folder, name), join(authority.folder, `live-${name}`));
  [postgresUrl, natsUrl] = await Promise.all([startPostgres(), startNats()]);
  coreSettings = {
    GATEHOUSE_DATABASE_URL: `${postgresUrl.href}?sslmode=verify-full`,
    GATEHOUSE_NATS_URL: natsUrl,
    GATEHOUSE_MASTER_KEY: randomBytes(32).toString('hex'),
    GATEHOUSE_SERVICE_TOKENS: `operator:${tokens.operator},reader:${tokens.reader}`,
    GATEHOUSE_CORE_GRPC_PORT: '0',
    GATEHOUSE_CORE_CONNECT_PORT: '0',
    GATEHOUSE_WALLETS: walletsOfCore(),
    GATEHOUSE_TLS_CA_FILE: authority.ca,
    GATEHOUSE_TLS_CERTIFICATE_FILE: join(authority.folder, 'live-server.crt'),
    GATEHOUSE_TLS_KEY_FILE: join(authority.folder, 'live-server.key'),
    GATEHOUSE_TLS_CLIENT_CERTIFICATES: 'required',
    GATEHOUSE_TLS_TRUST_DOMAIN: 'pay.example',
  };
  core = await startInline('core', coreSettings);
  closers.push(() => core.stop());
});

const grpcAddress = (): string => String(core.ready['grpc']);
const connectAddress = (): string => String(core.ready['connect']);

function overGrpc(paths: CertificatePaths, token = '', address = grpcAddress()): Transport {
  const transport = createGrpcTransport({ addresses: [address], token, tls: filesOf(paths) });
  closers.push(transport.close);
  return transport;
}

async function overConnect(
  { ca, own }: CertificatePaths,
  token = '',
  httpVersion: '1.1' | '2' = '2',
): Promise<Transport> {
  const nodeOptions = {
    ca: await readFile(ca),
    ...(own === undefined ? {} : { cert: await readFile(own.certificate), key: await readFile(own.key) }),
  };
  return createConnectTransport({
    baseUrl: `https://${connectAddress()}`,
    httpVersion,
    nodeOptions,
    interceptors: [
      (next) => (call) => {
        if (token !== '') call.header.set('authorization', `Bearer ${token}`);
        return next(call);
      },
    ],
  });
}

/** The settings of a connection to the database with these parameters in its URL. */
function databaseOf(parameters: string, files: CertificateFiles | undefined): pg.ClientConfig {
  const { ssl } = databaseTls(`${postgresUrl.href}?${parameters}`, files, logger, () => new Date());
  return { connectionString: postgresUrl.href, ssl: ssl ?? false };
}

const list = (transport: Transport) =>
  createClient(MerchantService, transport).listMerchants({ pageSize: 1 });

async function failureOf(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => 'no error',
    (thrown: unknown) => thrown,
  );
  return error instanceof ConnectError ? error.rawMessage : String(error);
}

describe('with certificates of one authority', () => {
  test('gRPC, Connect, NATS and PostgreSQL connect, and a certificate names the role', async () => {
    const operator = certificate('operator');
    await list(overGrpc(operator));
    await list(await overConnect(operator));
    await list(await overConnect(operator, '', '1.1'));
    await list(overGrpc(operator, tokens.operator));
    await list(overGrpc(certificate('unnamed'), tokens.operator));
    const refused = await failureOf(
      createClient(MerchantService, overGrpc(certificate('reader'))).createMerchant({ name: 'Shop' }),
    );
    expect(refused).toContain('the client certificate has the role reader');
    const contradiction = overGrpc(certificate('reader'), tokens.operator);
    expect(await failureOf(createClient(Health, contradiction).check({}))).toContain('send only one of them');
    await waitUntil('core is connected to the broker', () =>
      core.log.some(({ msg }) => msg === 'connected to the broker'),
    );
    const client = new pg.Client(databaseOf('sslmode=verify-full', filesOf(operator)));
    await client.connect();
    const { rows } = await client.query<{ ssl: boolean; client: string | null }>(`
      select ssl, client_dn as client from pg_stat_ssl join pg_stat_activity using (pid)
      where application_name like 'gatehouse-core%'`);
    await client.end();
    expect(rows.length).toBeGreaterThan(0);
    for (const row of rows) expect(row).toEqual({ ssl: true, client: '/CN=server' });
  });

  test.each([
    ['verify-full', '127.0.0.1'],
    ['verify-ca', 'localhost'],
    ['require', 'localhost'],
  ])('a backup with sslmode=%s connects to %s as core does', async (mode, host) => {
    const url = new URL(postgresUrl);
    url.hostname = host;
    url.searchParams.set('sslmode', mode);
    const folder = await mkdtemp(join(authority.folder, 'backup-'));

    const source = { url: url.href, tls: filesOf(certificate('operator')), schemas: ['core'] };
    expect(await writeSnapshot([source], folder)).toMatchObject({ schemas: [{ name: 'core' }] });
  });

  test('the command line and the health check of containers use the same settings', async () => {
    const run = promisify(execFile);
    const { ca, own } = certificate('operator');
    const settings = {
      PATH: process.env['PATH'],
      GATEHOUSE_TLS_CA_FILE: ca,
      GATEHOUSE_TLS_CERTIFICATE_FILE: own.certificate,
      GATEHOUSE_TLS_KEY_FILE: own.key,
      GATEHOUSE_CORE_ADDRESSES: grpcAddress(),
    };
    const listed = await run(process.execPath, ['src/main/cli.ts', '--json', 'merchant', 'list'], {
      env: settings,
    });
    expect(JSON.parse(listed.stdout)).toEqual(expect.anything());
    const port = connectAddress().split(':').at(-1);
    const nothing = Object.fromEntries(
      ['WEBHOOKS_CONNECT', 'REST_PRODUCTION', 'CHECKOUT', 'DASHBOARD', 'WALLET_CALLBACK', 'SIMULATOR'].map(
        (name) => [`GATEHOUSE_${name}_PORT`, '1'],
      ),
    );
    await run(process.execPath, ['scripts/healthcheck.mjs'], {
      env: { ...settings, ...nothing, GATEHOUSE_CORE_CONNECT_PORT: port },
    });
  });
});

describe('a caller is refused with the reason', () => {
  const refusals: readonly (readonly [what: string, name: string, token: string, said: string])[] = [
    ['without a certificate', 'none', tokens.operator, 'this server requires a client certificate'],
    [
      'with an expired certificate',
      'expired',
      tokens.operator,
      'that of the connection has expired: renew it',
    ],
    [
      'with a certificate of another authority',
      'stranger',
      tokens.operator,
      'this server requires a client certificate',
    ],
    [
      'of another trust domain',
      'elsewhere',
      '',
      'of another trust domain (spiffe://shop.example/gatehouse/operator)',
    ],
    [
      'with an unknown role',
      'unknown',
      '',
      'names no role of Gatehouse (spiffe://pay.example/gatehouse/emperor)',
    ],
    ['with two roles', 'double', '', 'has 2 SPIFFE ids'],
    ['whose token has another role', 'operator', tokens.reader, 'and the service token has the role reader'],
    ['whose token is unknown', 'operator', 'no-token-that-anybody-knows', 'and the service token is unknown'],
    ['whose certificate has no role, without a token', 'unnamed', '', 'send "authorization: Bearer'],
  ];
  test.each(refusals)('%s', async (_what, name, token, reason) => {
    const own = name === 'none' ? undefined : certificate(name).own;
    expect(await failureOf(list(overGrpc({ ca: authority.ca, own }, token)))).toContain(reason);
    expect(await failureOf(list(await overConnect({ ca: authority.ca, own }, token)))).toContain(reason);
  });

  test('without a certificate, also at a method that is open to anyone', async () => {
    const paths = { ca: authority.ca, own: undefined };
    for (const transport of [overGrpc(paths), await overConnect(paths)])
      expect(await failureOf(createClient(Health, transport).check({}))).toContain(
        'this server requires a client certificate',
      );
  });

  test("and core's log names the certificates that it ignores", () => {
    const reasons = core.log.flatMap(({ reason }) => (typeof reason === 'string' ? [reason] : []));
    expect(reasons).toContain('CERT_HAS_EXPIRED');
    expect(reasons.some((reason) => /SIGNATURE|ISSUER|SELF_SIGNED|VERIFY/.test(reason))).toBe(true);
  });

  test('also at the page of metrics, which needs a certificate too', async () => {
    const page = await get('/metrics', { ca: authority.ca, own: undefined });
    expect(page).toEqual({
      status: 401,
      body: expect.stringContaining('this server requires a client certificate'),
    });
  });
});

async function get(path: string, { ca, own }: CertificatePaths): Promise<{ status: number; body: string }> {
  const options = {
    ca: await readFile(ca),
    ...(own === undefined ? {} : { cert: await readFile(own.certificate), key: await readFile(own.key) }),
    agent: false,
  };
  return new Promise((resolve, reject) => {
    request(`https://${connectAddress()}${path}`, options, (answer) => {
      let body = '';
      answer.on('data', (part: Buffer) => (body += part.toString()));
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body }));
    })
      .on('error', reject)
      .end();
  });
}

describe('a server is refused, and both sides log why,', () => {
  const server = async (files: IssuedFiles, asksClients = false): Promise<string> => {
    const peers = { isRequired: false, trustDomain: undefined, roles: [] };
    const tls = { files: filesOf(files), asksClients, peers };
    const started = await startGrpcServer({ host: '127.0.0.1', port: 0, services: [], tls, logger });
    closers.push(() => started.stop(0));
    return started.address;
  };

  test('when its certificate has expired', async () => {
    const address = await server(certificate('expired'));
    expect(isLogged('expired at')()).toBe(true);
    expect(await failureOf(list(overGrpc(certificate('operator'), '', address)))).toContain(
      'certificate has expired',
    );
    await waitUntil('the server has logged it', isLogged('a TLS handshake failed'));
  });

  test('once, however many clients without TLS connect', async () => {
    const address = await server(certificate('server'));
    const [host = '', port = ''] = address.split(':');
    log.length = 0;
    for (let number = 0; number < 50; number += 1) {
      const socket = connect(Number(port), host);
      socket.on('error', () => undefined).write('GET / HTTP/1.1\r\n\r\n');
      await once(socket, 'close');
    }

    const failures = log.filter(({ msg = '' }) => msg.includes('a TLS handshake failed'));
    expect(failures).toMatchObject([{ listener: 'gRPC', count: 1 }]);
  });

  test("or a client's certificate is, whose name is logged without what controls a terminal", async () => {
    const { own } = await foreign.issue('a\u009b2J', 'DNS:shop.example');
    const address = await server(certificate('server'), true);

    await failureOf(list(overGrpc({ ca: authority.ca, own }, '', address)));

    const isSubject = ({ subject }: Readonly<Record<string, unknown>>) =>
      JSON.stringify([subject]).includes('2J');
    await waitUntil('the server has logged it', () => log.some(isSubject));
    expect(JSON.stringify(log.find(isSubject))).toContain('?2J');
  });

  test('when it is for another name', async () => {
    const address = (await server(certificate('named'))).replace('127.0.0.1', 'localhost');
    expect(await failureOf(list(overGrpc(certificate('operator'), '', address)))).toContain(
      "does not match certificate's altnames",
    );
  });

  test('when it is of another authority', async () => {
    const failure = await failureOf(list(overGrpc(certificate('stranger'))));
    expect(failure).toMatch(/unable to verify|self-signed|unable to get/);
    await waitUntil('core has logged it', () =>
      core.log.some(({ msg }) => String(msg).startsWith('a TLS handshake failed')),
    );
  });

  test('when the broker has another authority, or requires a certificate that is missing', async () => {
    for (const paths of [certificate('stranger'), { ca: authority.ca, own: undefined }]) {
      log.length = 0;
      const bus = openEventBus({ url: natsUrl, name: 'test', tls: filesOf(paths), logger });
      // A client that retries for ever still logs the problem.
      await waitUntil('the log has the reason', isLogged('cannot connect to the broker'));
      expect(bus.isConnected()).toBe(false);
      await bus.close();
    }
  });

  const unchecked: unknown = expect.any(Function);
  const ownFiles: object = { ca: expect.anything(), cert: expect.anything() };
  const databases: readonly (readonly [what: string, parameters: string, files: string, said: RegExp])[] = [
    ['of another authority', 'sslmode=verify-full', 'stranger', /self-signed|unable to (get|verify)/],
    ['that requires a certificate from a client without one', 'sslmode=require', '', /certificate/],
    [
      'that refuses an expired certificate of the client',
      'sslmode=require',
      'expired',
      /has expired; renew it/,
    ],
    ['that accepts TLS only', '', 'operator', /no encryption/],
    [
      'of another authority, although the connection checks only the chain',
      'sslmode=verify-ca',
      'stranger',
      /self-signed|unable/,
    ],
  ];
  test.each(databases)('when it is a database %s', async (_what, parameters, name, reason) => {
    const files = name === '' ? undefined : filesOf(certificate(name));
    const client = new pg.Client(databaseOf(parameters, files));
    client.on('error', () => undefined);
    const failure: unknown = await client.connect().catch((error: unknown) => error);
    expect(`${String(failure)}; ${whatToDo(failure, '')}`).toMatch(reason);
  });

  // As in clients of PostgreSQL.
  test.each<[parameters: string, ssl: object, absent: string[]]>([
    ['sslrootcert=FILE', { host: 'db.internal', rejectUnauthorized: true }, ['checkServerIdentity', 'cert']],
    [
      'sslmode=require&sslrootcert=FILE',
      { rejectUnauthorized: true, checkServerIdentity: unchecked },
      ['cert'],
    ],
    ['sslrootcert=system', { rejectUnauthorized: true }, ['ca', 'cert', 'checkServerIdentity']],
    ['sslmode=verify-ca', { rejectUnauthorized: true, checkServerIdentity: unchecked, ...ownFiles }, []],
    ['sslmode=require', { rejectUnauthorized: false, checkServerIdentity: unchecked, ...ownFiles }, []],
  ])('and a database whose URL has %s is checked as the URL says', (parameters, options, absent) => {
    const url = `postgres://db.internal/gatehouse?${parameters.replace('FILE', authority.ca)}`;
    const { ssl, stop } = databaseTls(url, filesOf(certificate('operator')), logger, () => new Date());
    stop();
    expect(ssl).toMatchObject(options);
    for (const name of absent) expect(ssl).not.toHaveProperty(name);
  });

  test.each([
    ['sslmode=verify-full&sslrootcert=FILE&sslcert=FILE', 'belong together'],
    ['sslmode=verify-full&sslrootcert=FILE&sslkey=FILE', 'belong together'],
    ['sslmode=verify-full&sslcert=FILE&sslkey=FILE', 'needs sslrootcert'],
    ['sslrootcert=system&sslcert=FILE&sslkey=FILE', 'needs sslrootcert'],
  ])('and a database whose URL has %s is refused', (parameters, reason) => {
    const url = `postgres://db.internal/gatehouse?${parameters.replaceAll('FILE', authority.ca)}`;
    expect(() => databaseTls(url, undefined, logger, () => new Date())).toThrow(reason);
  });

  test('and a weak mode of the database is logged, but not on the same machine or without a password', () => {
    for (const mode of ['require', 'prefer', 'disable']) {
      log.length = 0;
      const url = `postgres://user:word@db.internal/gatehouse?sslmode=${mode}`;
      databaseTls(url, undefined, logger, () => new Date());
      expect(JSON.stringify(log)).toContain('sslmode=verify-full');
    }
    log.length = 0;
    for (const harmless of ['user:word@127.0.0.1/gatehouse?sslmode=require', 'user@db.internal/gatehouse'])
      databaseTls(`postgres://${harmless}`, undefined, logger, () => new Date());
    expect(log).toEqual([]);
  });
});

describe('renewed certificates', () => {
  const serialOfCore = (address = grpcAddress()): Promise<string> =>
    new Promise((resolve, reject) => {
      const [host, port] = address.split(':');
      const socket = connectTls(
        { host, port: Number(port), rejectUnauthorized: false, ALPNProtocols: ['h2'] },
        () => {
          resolve(socket.getPeerCertificate().serialNumber);
          socket.destroy();
        },
      ).on('error', reject);
    });
  const install = async (name: 'crt' | 'key', content: Buffer): Promise<void> => {
    const draft = join(authority.folder, `draft.${name}`);
    await writeFile(draft, content);
    await rename(draft, join(authority.folder, `live-server.${name}`));
  };

  /** A certificate and its key that are replaced while they are used. */
  const replaceable = (name: string) => {
    const own = {
      certificate: join(authority.folder, `${name}.crt`),
      key: join(authority.folder, `${name}.key`),
    };
    const put = async (issued: string): Promise<Buffer> => {
      await copyFile(certificate(issued).own.certificate, own.certificate);
      await copyFile(certificate(issued).own.key, own.key);
      return readFile(own.certificate);
    };
    return { paths: { ca: authority.ca, own }, put };
  };

  test('are used for new connections without a failed call, and a pair that does not match is ignored', async () => {
    const before = await serialOfCore();
    expect(await serialOfCore(connectAddress())).toBe(before);
    const { own } = certificate('renewed');
    const longLived = overGrpc(certificate('operator'));
    const ended = new AbortController();
    const calls = (async () => {
      let count = 0;
      for (; !ended.signal.aborted; count += 1)
        await Promise.all([list(longLived), list(overGrpc(certificate('operator')))]);
      return count;
    })();
    // The certificate and its key do not match until the key is replaced too.
    await install('crt', await readFile(own.certificate));
    const problem = 'the changed TLS files cannot be used, so the previous certificates stay in use';
    await waitUntil('core has looked at the files', () =>
      core.log.some(({ msg }) => String(msg).startsWith(problem)),
    );
    expect(await serialOfCore()).toBe(before);
    await install('key', await readFile(own.key));
    await waitUntil('core shows the new certificate', async () => (await serialOfCore()) !== before);
    expect(await serialOfCore(connectAddress())).toBe(await serialOfCore());
    for (const version of ['1.1', '2'] as const)
      await list(await overConnect(certificate('operator'), '', version));
    ended.abort();
    expect(await calls).toBeGreaterThan(0);
    const { body } = await get('/metrics', certificate('operator'));
    const days = [
      ...body.matchAll(/gatehouse_tls_certificate_expiry_timestamp_seconds\{certificate="(\w+)"\} (\S+)/g),
    ].map(([, name = '', seconds]) => [name, Math.round((Number(seconds) * 1000 - Date.now()) / 86_400_000)]);
    expect(Object.fromEntries(days)).toMatchObject({ own: 2, database: 1, broker: 1 });
  });

  test('are used by clients too', async () => {
    const { paths, put } = replaceable('c');
    await put('reader');
    const files = filesOf(paths);
    const client = (): Transport => {
      const transport = createGrpcTransport({ addresses: [grpcAddress()], token: '', tls: files });
      closers.push(transport.close);
      return transport;
    };
    const create = () => createClient(MerchantService, client()).createMerchant({ name: 'Shop' });
    expect(await failureOf(create())).toContain('has the role reader');
    await put('expired');
    await files.reload();
    expect(await failureOf(create())).toContain('has the role reader');
    await put('operator');
    await files.reload();
    await create();
  });

  test('are used as soon as they are valid, and the previous ones until then', async () => {
    const { paths, put } = replaceable('early');
    const issuedMs = Date.now();
    let nowMs = issuedMs;
    const first = await put('server');
    const files = openCertificateFiles({
      paths,
      logger,
      now: () => new Date(nowMs),
      everyMs: 3_600_000,
    });
    closers.push(files.stop);

    const next = await put('renewed');
    nowMs = issuedMs - 3_600_000;
    await files.reload();
    const early = files.current().own?.certificate;
    nowMs = issuedMs;
    await files.reload();

    expect(early).toEqual(first);
    expect(isLogged(`${paths.own.certificate} is not valid before `)()).toBe(true);
    expect(files.current().own?.certificate).toEqual(next);
    const isExpired = isLogged(`${paths.own.certificate} expired at `);
    expect(isExpired()).toBe(false);
    nowMs = files.current().expiry.own ?? 0;
    await files.reload();
    expect(isExpired()).toBe(true);
  });

  test.each([
    ['that is cut off', (whole: string) => whole.slice(0, -100)],
    [
      'without a line break between two',
      (whole: string) => whole.replace(/-----\s+-----BEGIN/, '----------BEGIN'),
    ],
    ['whose lines end with carriage returns only', (whole: string) => whole.replaceAll('\n', '\r')],
    ['whose second begins after a carriage return', (whole: string) => `${whole}#\r${whole}`],
  ])('are not used from a file %s, and the log says when it is whole again', async (_what, damage) => {
    const ca = join(authority.folder, 'both.crt');
    const whole = `${await readFile(authority.ca, 'utf8')}${await readFile(foreign.ca, 'utf8')}`;
    await writeFile(ca, whole);
    const files = filesOf({ ca, own: certificate('server').own });
    log.length = 0;

    await writeFile(ca, damage(whole));
    await files.reload();

    expect(files.current().ca.toString()).toBe(whole);
    expect(isLogged(`${ca} must contain whole PEM certificates`)()).toBe(true);
    const isWhole = isLogged('the TLS files contain the certificates in use again');
    expect(isWhole()).toBe(false);
    await writeFile(ca, whole);
    await files.reload();
    expect(isWhole()).toBe(true);
  });

  test('stay in use while the process can open no more files, and the log says so', () => {
    const { ca } = authority;
    const script = `
      import { closeSync, openSync } from 'node:fs';
      import { openCertificateFiles } from '${new URL('../../../src/platform/tls/certificate-files.ts', import.meta.url).href}';
      const say = (_, line) => console.log(line);
      const files = openCertificateFiles({ paths: { ca: '${ca}' }, logger: { error: say, info: say }, now: () => new Date() });
      console.log('start');
      const open = [];
      try { for (;;) open.push(openSync('${ca}')); } catch {}
      await files.reload();
      await files.reload();
      open.forEach((each) => closeSync(each));
      await files.reload();`;
    const node = spawnSync(
      'sh',
      ['-c', 'ulimit -n 128; exec "$0" --input-type=module --eval "$1"', process.execPath, script],
      { encoding: 'utf8' },
    );
    expect(node.stdout.trim().split('\n')).toEqual([
      'start',
      'the TLS files cannot be read, so the previous certificates stay in use: this process has no free file descriptor ' +
        '(EMFILE); raise its limit of open files, and restart it',
      'the TLS files can be read again',
    ]);
  });

  test('are used from a file with the line breaks of Windows', async () => {
    const ca = join(authority.folder, 'windows.crt');
    const windows = (await readFile(authority.ca, 'utf8')).replaceAll('\n', '\r\n');
    await writeFile(ca, windows);

    const files = filesOf({ ca, own: certificate('server').own });

    expect(files.current().ca.toString()).toBe(windows);
  });

  test('are used for new connections to PostgreSQL, while open ones stay', async () => {
    const { paths, put } = replaceable('d');
    await put('reader');
    const files = filesOf(paths);
    const pool = new pg.Pool({ ...databaseOf('sslmode=verify-full', files), max: 2 });
    closers.push(() => pool.end());
    const nameOf = async (client: pg.PoolClient): Promise<string> => {
      const { rows } = await client.query<{ client_dn: string }>(`
        select client_dn from pg_stat_ssl where pid = pg_backend_pid()`);
      return rows[0]?.client_dn ?? '';
    };
    const open = await pool.connect();
    closers.push(() => open.release());
    expect(await nameOf(open)).toBe('/CN=reader');

    await put('operator');
    await files.reload();

    const next = await pool.connect();
    closers.push(() => next.release());
    expect(await nameOf(next)).toBe('/CN=operator');
    expect(await nameOf(open)).toBe('/CN=reader');
    // Core has had its new certificate since the first test, and its connections are older.
    await next.query(`
      select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'gatehouse-core%'`);
    await waitUntil('core is connected with its new certificate', async () => {
      const { rows } = await next.query<{ client_dn: string }>(`
        select distinct client_dn from pg_stat_ssl join pg_stat_activity using (pid)
        where application_name like 'gatehouse-core%'`);
      return rows.length > 0 && rows.every(({ client_dn: name }) => name === '/CN=renewed');
    });
    await list(overGrpc(certificate('operator')));
  });

  test('of PostgreSQL and NATS are seen by a process whose connections are older', async () => {
    const tls = filesOf(certificate('operator'));
    const database = await openDatabase({
      url: `${postgresUrl.href}?sslmode=verify-full`,
      poolSize: 1,
      applicationName: 'test',
      tls,
      logger,
    });
    closers.push(database.close);
    const bus = openEventBus({ url: natsUrl, name: 'test', tls, logger });
    closers.push(bus.close);
    await waitUntil('the broker is connected', bus.isConnected);
    await database.pool.query('select 1');
    const inTwoDays = Date.now() + 36 * 3_600_000;
    for (const { certificate: seen } of [database, bus]) expect(seen.expiryMs()).toBeLessThan(inTwoDays);

    await brokerFiles('renewed');
    reloadNats();
    await installInPostgres('renewed');
    await database.pool.query('select pg_reload_conf()');

    for (const [name, { certificate: seen }] of Object.entries({ database, bus }))
      await waitUntil(`the new certificate of the ${name} is seen`, async () => {
        await seen.readAgain();
        return (seen.expiryMs() ?? 0) > inTwoDays;
      });
  });
});
