import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { connect } from 'node:http2';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from '@jest/globals';
import { choosePorts } from '../../../src/main/local/free-port.ts';
import { listenLocally } from '../../support/listen-locally.ts';
import { waitUntil } from '../../support/wait-until.ts';

const root = resolve(import.meta.dirname, '../../..');
const sites = { api: 8080, sandbox: 8081, checkout: 8082, dashboard: 8083, callbacks: 8084 } as const;
const apis: ReadonlySet<string> = new Set(['api', 'sandbox']);
const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
  (name) => `${name}_temp_path ${name};`,
);

/** How a proxy runs with its file in a folder, which also has the certificate, and gets its log. */
const proxies = [
  {
    program: 'nginx',
    file: 'nginx/gatehouse.conf',
    adapt: (written: string, folder: string) =>
      `daemon off; pid pid; events {} http { ${temporary.join(' ')} access_log ${folder}/access.log;\n` +
      `${written.replaceAll(/\/(?:etc\/letsencrypt\/live\/pay\.example|var\/log\/nginx)/g, folder)}}\n`,
    tooLarge: { site: 'api', answer: { code: 400, message: 'Bad request', details: [{ field: 'body' }] } },
    args: (folder: string) => ['-p', folder, '-e', join(folder, 'main.log'), '-c', join(folder, 'adapted')],
  },
  {
    program: 'haproxy',
    file: 'haproxy/haproxy.cfg',
    adapt: (written: string, folder: string) =>
      written
        .replace(/^ {2}(?:user|group) haproxy\n/gm, '')
        .replace('/etc/haproxy/certs/', join(folder, 'both.pem')),
    // HAProxy gives a body of any size to the process. It can repeat a small request only, so this site has no process that stops.
    tooLarge: { site: 'checkout', answer: { site: 'checkout' } },
    args: (folder: string) => ['-db', '-f', join(folder, 'adapted')],
  },
] as const;

/** Without the proxy, its tests are skipped. */
describe.each(proxies)('$program with the file of deploy', ({ program, file, adapt, tooLarge, args }) => {
  const path = `/usr/sbin/${program}`;
  const isThere = spawnSync(path, ['-v']).error === undefined;

  (isThere ? test : test.skip)(
    'gives a process that runs the requests for its host with the address of the caller, answers merchants in JSON, and writes no URL into a log',
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'gatehouse-proxy-'));
      const openssl = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=pay.example'];
      spawnSync('openssl', [...openssl, '-keyout', 'privkey.pem', '-out', 'fullchain.pem'], { cwd: folder });
      const pem = await Promise.all(
        ['fullchain.pem', 'privkey.pem'].map((name) => readFile(join(folder, name), 'utf8')),
      );
      await writeFile(join(folder, 'both.pem'), pem.join(''));
      const [port = 0, restarting = 0] = await choosePorts(
        Array.from({ length: 2 }, () => ({ setting: '', host: '127.0.0.1', port: 0 })),
      );
      let config = adapt(await readFile(join(root, 'deploy', file), 'utf8'), folder)
        .replaceAll('listen 443', `listen 127.0.0.1:${port}`)
        .replace('bind :443', `bind 127.0.0.1:${port}`);
      // A process that stops can close an idle connection while a request arrives on it.
      const stops = await listenLocally(createServer(({ socket }) => socket.destroy()));
      const stopping = new URL(stops.origin);
      const processes = await Promise.all(
        Object.entries(sites).map(async ([site, own]) => {
          const server = createServer((request, reply) => {
            request.resume().on('end', () => reply.end(JSON.stringify({ site, ...request.headers })));
          });
          const local = await listenLocally(server);
          // Of the processes for each host, the one that restarts refuses connections.
          config = config.replace(new RegExp(`^ +server .*127.0.0.1:${own}.*$`, 'm'), (line) =>
            [
              `127.0.0.1:${restarting}`,
              ...(apis.has(site) ? [stopping.host] : []),
              new URL(local.origin).host,
            ]
              .map((host, index) => line.replace('local', `local${index}`).replace(`127.0.0.1:${own}`, host))
              .join('\n'),
          );
          return local;
        }),
      );
      let closed: Promise<unknown> | undefined;
      const closeProcesses = () =>
        (closed ??= Promise.all([stops, ...processes].map(({ close }) => close())));
      await writeFile(join(folder, 'adapted'), config);
      const proxy = spawn(path, args(folder), { stdio: ['ignore', 'pipe', 'pipe'] });
      const printed = Promise.all([text(proxy.stdout), text(proxy.stderr)]);
      const ended = once(proxy, 'exit');

      /** Sends a request to a site through the proxy. Returns the answer. Callers name another port than 443 in the host. */
      const ask = async (
        site: string,
        namedPort = '',
        sent = Buffer.alloc(0),
        headerBytes = 0,
      ): Promise<{ readonly status: unknown; readonly body: string }> => {
        const session = connect(`https://127.0.0.1:${port}`, {
          servername: `${site}.pay.example`,
          rejectUnauthorized: false,
        }).on('error', () => undefined);
        try {
          const request = session.request({
            ':method': 'POST',
            ':path': '/invitation/one-time-link',
            ':authority': `${site}.pay.example${namedPort}`,
            'x-forwarded-for': '192.0.2.66',
            'content-length': sent.length,
            'x-large': 'a'.repeat(headerBytes),
          });
          request.end(sent);
          const [headers] = (await once(request, 'response')) as [Record<string, unknown>];
          return { status: headers[':status'], body: await text(request) };
        } finally {
          session.destroy();
        }
      };
      try {
        await waitUntil(`${program} answers`, async () => (await ask('api').catch(() => undefined))?.status);
        for (const site of Object.keys(sites))
          expect(JSON.parse((await ask(site)).body)).toMatchObject({
            site,
            host: `${site}.pay.example`,
            'x-forwarded-for': '127.0.0.1',
            'x-forwarded-proto': 'https',
          });
        expect(JSON.parse((await ask('checkout', ':8443')).body)).toMatchObject({ site: 'checkout' });
        const refused = await ask(tooLarge.site, '', Buffer.alloc(2_000_000));
        expect(JSON.parse(refused.body)).toMatchObject(tooLarge.answer);
        // The processes accept 16 KiB of headers.
        const large = await ask('sandbox', '', Buffer.alloc(0), 15_500);
        expect(JSON.parse(large.body)).toMatchObject({ site: 'sandbox' });
        expect((await ask('checkout', '', Buffer.alloc(0), 20_000)).status).toBe(431);
        await closeProcesses();
        expect((await ask('dashboard')).status).toBeGreaterThanOrEqual(502);
        for (const site of apis) {
          const { status, body } = await ask(site);
          expect(JSON.parse(body)).toEqual({
            code: status,
            message: expect.stringContaining('send the same'),
          });
        }
      } finally {
        proxy.kill();
        await ended;
        await closeProcesses();
      }
      const logs = await Promise.all(
        (await readdir(folder, { withFileTypes: true }))
          .filter((entry) => entry.isFile())
          .map(({ name }) => readFile(join(folder, name), 'utf8')),
      );
      expect([...logs, ...(await printed)].join('')).not.toContain('one-time-link');
      await rm(folder, { recursive: true });
    },
  );
});
