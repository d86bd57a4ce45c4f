import { afterEach, describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { promisify } from 'node:util';
import { choosePorts } from '../../../src/main/local/free-port.ts';
import { StartError } from '../../../src/main/local/start-error.ts';

const host = '127.0.0.1';
const execute = promisify(execFile);

/** Another process chooses a free port and exits. It tries only `onlyPort`, if that is given. Returns the port, or the reason. */
async function chooseElsewhere(onlyPort: number | undefined): Promise<unknown> {
  const script = `
    import { choosePorts } from './src/main/local/free-port.ts';
    ${onlyPort === undefined ? '' : `Math.random = () => ${(onlyPort - 20_000 + 0.5) / 12_000};`}
    const choice = await choosePorts([{ setting: 'any', host: '${host}', port: 0 }]).catch(({ message }) => [message]);
    console.log(JSON.stringify(choice[0]));`;
  const { stdout } = await execute(process.execPath, ['--input-type=module', '--eval', script]);
  return JSON.parse(stdout);
}

describe('choosing ports', () => {
  const servers: Server[] = [];
  afterEach(() => {
    for (const server of servers.splice(0)) server.close();
  });

  async function listenOn(port: number): Promise<number> {
    const server = createServer().listen(port, host);
    servers.push(server);
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  }

  test('0 selects different ports that are free', async () => {
    const request = { setting: 'GATEHOUSE_NATS_PORT', host, port: 0 };
    const ports = await choosePorts([request, request, request]);
    expect(new Set(ports).size).toBe(3);
    for (const port of ports) expect(await listenOn(port)).toBe(port);
  });

  test('a free port is returned as requested, and released', async () => {
    const [port = 0] = await choosePorts([{ setting: 'GATEHOUSE_NATS_PORT', host, port: 0 }]);
    const ports = await choosePorts([{ setting: 'GATEHOUSE_NATS_PORT', host, port }]);
    expect(ports).toEqual([port]);
    expect(await listenOn(port)).toBe(port);
  });

  test('a chosen port is free for no other process until the one that chose it exits', async () => {
    const anyPort = { setting: 'GATEHOUSE_NATS_PORT', host, port: 0 };
    const [mine = 0] = await choosePorts([anyPort]);
    const other = Number(await chooseElsewhere(undefined));

    expect(await chooseElsewhere(mine)).toMatch(
      /^No free port was found on 127\.0\.0\.1 \(any\): 100 ports from 20000 to 31999 are taken\./,
    );
    expect(await chooseElsewhere(other)).toBe(other);
  });

  test('every port that cannot be used is named at once, with its process and one command that helps', async () => {
    const [first, second] = [await listenOn(0), await listenOn(0)];
    const [free = 0] = await choosePorts([{ setting: 'any', host, port: 0 }]);
    const choosing = choosePorts([
      { setting: 'GATEHOUSE_REST_SANDBOX_PORT', host, port: first },
      { setting: 'GATEHOUSE_CHECKOUT_PORT', host, port: free },
      { setting: 'GATEHOUSE_DASHBOARD_PORT', host, port: free },
      { setting: 'GATEHOUSE_NATS_PORT', host, port: second },
    ]);
    const name = (await readFile('/proc/self/comm', 'utf8')).trim();

    await expect(choosing).rejects.toThrow(StartError);
    await expect(choosing).rejects.toThrow(
      [
        `Port ${first} on ${host} (GATEHOUSE_REST_SANDBOX_PORT) is taken by ${name}, process ${process.pid}`,
        `Port ${free} (GATEHOUSE_DASHBOARD_PORT) is also set for GATEHOUSE_CHECKOUT_PORT. Set one of them to another port, or to 0.`,
        `Port ${second} on ${host} (GATEHOUSE_NATS_PORT) is taken by ${name}, process ${process.pid}`,
        'Stop the program that uses the port, or set another port. 0 selects any free port. For all of them: ' +
          'GATEHOUSE_REST_SANDBOX_PORT=0 GATEHOUSE_DASHBOARD_PORT=0 GATEHOUSE_NATS_PORT=0 npm start',
      ].join('\n'),
    );
  });

  test('a port that an outgoing connection holds is named with the connection, and how to reserve it', async () => {
    const connection = connect(await listenOn(0), host);
    await once(connection, 'connect');
    const port = connection.localPort ?? 0;
    const choosing = choosePorts([{ setting: 'GATEHOUSE_CORE_GRPC_PORT', host, port }]);

    await expect(choosing).rejects.toThrow(
      `Port ${port} on ${host} (GATEHOUSE_CORE_GRPC_PORT) is taken by an outgoing connection of `,
    );
    await expect(choosing).rejects.toThrow(`, process ${process.pid}. It is free again a minute after`);
    await expect(choosing).rejects.toThrow(`net.ipv4.ip_local_reserved_ports=${port}\n`);
    connection.destroy();
  });

  test('an address that this machine does not have is named once, with the setting, and no port is blamed', async () => {
    const request = { setting: 'GATEHOUSE_NATS_PORT', host: '192.0.2.1', port: 0 };

    await expect(choosePorts([request, { ...request, port: 8080 }])).rejects.toThrow(
      /^Cannot listen on 192\.0\.2\.1: .+ 192\.0\.2\.1\.\nSet GATEHOUSE_HOST to an address of this machine.+\n.+127\.0\.0\.1\.$/,
    );
  });
});
