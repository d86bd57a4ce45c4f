import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { createClient } from '@connectrpc/connect';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createGrpcTransport } from '../../../src/contract/grpc-transport.ts';
import { Health } from '../../../src/gen/health/v1/health_pb.js';
import { startRpcServers } from '../../../src/platform/rpc/start-servers.ts';
import { openCertificateFiles } from '../../../src/platform/tls/certificate-files.ts';
import type { CertificateFiles } from '../../../src/platform/tls/certificate-files.ts';
import { createPrivateAuthority } from '../../support/private-authority.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { keptLog } from '../../support/kept-log.ts';
import { failureOf } from '../../support/rpc-failure.ts';

// A server whose network or machine is lost at the moment of a connection accepts it, and is silent for ever.

const { logger } = keptLog({ level: 'info' });
const closers: (() => unknown)[] = [];
let certificates: CertificateFiles;

beforeAll(async () => {
  const authority = await createPrivateAuthority();
  closers.push(() => rm(authority.folder, { recursive: true }));
  const paths = await authority.issue('server', 'DNS:localhost,IP:127.0.0.1');
  certificates = openCertificateFiles({ paths, logger, now: () => new Date(), everyMs: 3_600_000 });
  closers.push(certificates.stop);
});
afterAll(async () => {
  for (const close of closers.reverse()) await close();
});

/** Accepts connections and is silent, until `recover`. From then on it passes new connections on, and says nothing on the earlier ones. */
async function startLosableNetwork(target: string) {
  const port = Number(target.split(':').at(-1));
  const silent = new Set<Socket>();
  const all = new Set<Socket>();
  let isLost = true;
  const server = createServer((near) => {
    all.add(near);
    near.on('error', () => near.destroy());
    if (isLost) {
      silent.add(near.resume());
      near.on('end', () => silent.delete(near));
      near.on('close', () => silent.delete(near));
      return;
    }
    const far = connect(port, '127.0.0.1');
    all.add(far);
    far.on('error', () => near.destroy());
    near.pipe(far).pipe(near);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => {
    for (const socket of all) socket.destroy();
    server.close();
  });
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    silent,
    recover: () => (isLost = false),
  };
}

test.each([{ hasTls: false }, { hasTls: true }])(
  'calls succeed after the loss of a network that left a new connection silent, with TLS: $hasTls',
  async ({ hasTls }) => {
    const servers = await startRpcServers({
      host: '127.0.0.1',
      ports: { grpc: 0, connect: 0 },
      services: [],
      pages: {},
      tokens: [],
      draining: new AbortController().signal,
      ...(hasTls
        ? {
            tls: {
              files: certificates,
              asksClients: false,
              peers: { isRequired: false, trustDomain: undefined, roles: [] },
            },
          }
        : {}),
      isServing: () => true,
      explain: () => undefined,
      measure: () => undefined,
      newRequestId: () => 'r-1',
      logger,
    });
    closers.push(() => servers.stop(0));
    const network = await startLosableNetwork(servers.addresses.grpc);
    const transport = createGrpcTransport({
      addresses: [network.address],
      token: '',
      tls: hasTls ? certificates : undefined,
      connectWithinMs: 300,
    });
    closers.push(() => transport.close());
    const health = createClient(Health, transport);

    const failed = await failureOf(health.check({}, { timeoutMs: 5_000 }));
    expect(failed).toMatchObject({ code: 'Unavailable' });
    network.recover();

    await waitUntil('a call succeeds', () =>
      health.check({}, { timeoutMs: 1_000 }).then(
        () => true,
        () => false,
      ),
    );
    await waitUntil('the silent connections are closed', () => network.silent.size === 0);
  },
);
