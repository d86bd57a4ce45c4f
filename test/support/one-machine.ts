import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { choosePorts } from '../../src/main/local/free-port.ts';
import { startProgram } from './gatehouse-process.ts';
import type { GatehouseProcess } from './gatehouse-process.ts';
import { compileCache } from './servers.ts';

const root = resolve(import.meta.dirname, '../..');

/** A process that a deployment starts in a container, with its command and environment. */
export interface DeployedProcess {
  readonly name: string;
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/** The setting of each port that a process listens on in its container. */
const portSettings: Readonly<Record<string, Readonly<Record<number, string>>>> = {
  core: { 50051: 'GATEHOUSE_CORE_GRPC_PORT', 50052: 'GATEHOUSE_CORE_CONNECT_PORT' },
  'rest-facade': { 8080: 'GATEHOUSE_REST_PRODUCTION_PORT', 8081: 'GATEHOUSE_REST_SANDBOX_PORT' },
  checkout: { 8082: 'GATEHOUSE_CHECKOUT_PORT' },
  dashboard: { 8083: 'GATEHOUSE_DASHBOARD_PORT' },
  wallets: { 8084: 'GATEHOUSE_WALLET_CALLBACK_PORT' },
  webhooks: { 50053: 'GATEHOUSE_WEBHOOKS_GRPC_PORT', 50054: 'GATEHOUSE_WEBHOOKS_CONNECT_PORT' },
  'wallet-simulator': { 8090: 'GATEHOUSE_SIMULATOR_PORT' },
};
const servers = ['postgres:5432', 'nats:4222', 'nats:8222'];

/** Runs the processes of a deployment on this machine: with its hosts at 127.0.0.1, and its folders in one of the test. */
export interface OneMachine {
  /** A text with the hosts and paths of containers replaced by those of this machine. */
  readonly here: (text: string) => string;
  readonly portOf: (address: string) => number;
  readonly environmentOf: (process: DeployedProcess) => Readonly<Record<string, string>>;
  /** Runs a command to its end, in the environment of a process. */
  readonly run: (
    process: DeployedProcess,
  ) => Promise<{ exitCode: number | string; stdout: string; stderr: string }>;
  readonly start: (process: DeployedProcess) => Promise<GatehouseProcess>;
}

/** @param running ports of servers that already run, by address */
export async function openOneMachine(
  folder: string,
  running: Readonly<Record<string, number>> = {},
): Promise<OneMachine> {
  const wanted = [
    ...servers,
    ...Object.entries(portSettings).flatMap(([name, ports]) =>
      Object.keys(ports).map((port) => `${name}:${port}`),
    ),
  ];
  const chosen = await choosePorts(wanted.map((setting) => ({ setting, host: '127.0.0.1', port: 0 })));
  const ports = new Map(wanted.map((address, index) => [address, running[address] ?? chosen[index] ?? 0]));
  const portOf = (address: string): number => {
    const [host, number = ''] = address.split(':');
    const found = [...ports].find(([each]) =>
      host === '127.0.0.1' ? each.endsWith(`:${number}`) : each === address,
    );
    return found?.[1] ?? Number(number);
  };
  const here = (text: string): string =>
    text
      .replace(/(?:dns:\/\/\/)?\b(?:[a-z][a-z-]*|127\.0\.0\.1):\d{4,5}\b/g, (written) => {
        const address = written.replace('dns:///', '');
        const port = portOf(address);
        return address.endsWith(`:${port}`) ? written : `127.0.0.1:${port}`;
      })
      .replace(
        /(?<![\w/.-])\/(?:run|var\/lib|etc)\/(?:gatehouse|nats)(?=\/|\s|$)/g,
        (path) => `${folder}${path}`,
      )
      .replace(/(?<![\w/.-])\/app(?=\/)/g, root)
      .replace(/\b0\.0\.0\.0\b/g, '127.0.0.1');
  const environmentOf = ({ name, environment }: DeployedProcess) => ({
    // A port that nothing listens on stands for those of other containers.
    ...Object.fromEntries(
      Object.entries(portSettings).flatMap(([owner, settings]) =>
        Object.entries(settings).map(([port, setting]) => [
          setting,
          owner === name ? String(ports.get(`${owner}:${port}`)) : '2',
        ]),
      ),
    ),
    ...Object.fromEntries(Object.entries(environment).map(([key, value]) => [key, here(value)])),
    // All containers have the same port.
    ...(environment['GATEHOUSE_METRICS_PORT'] === undefined ? {} : { GATEHOUSE_METRICS_PORT: '0' }),
  });
  return {
    here,
    portOf,
    environmentOf,
    run: (process_) =>
      new Promise((done) => {
        const [program = '', ...args] = process_.command.map(here);
        const env = { PATH: process.env['PATH'], ...compileCache(), ...environmentOf(process_) };
        execFile(program, args, { cwd: root, env }, (error, stdout, stderr) =>
          done({ exitCode: error?.code ?? 0, stdout, stderr }),
        );
      }),
    start: (process_) => startProgram(process_.name, process_.command.map(here), environmentOf(process_)),
  };
}
