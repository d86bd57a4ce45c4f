import { createServer } from 'node:net';
import type { ListenOptions, Server } from 'node:net';
import { hasCode } from './error-code.ts';
import { findPortHolder } from './port-holder.ts';
import { StartError } from './start-error.ts';

/** A requested listener: the setting of its port, and its address. Port 0 means any free port. */
export interface PortRequest {
  readonly setting: string;
  readonly host: string;
  readonly port: number;
}

/** Below the range for outgoing connections, which could otherwise take the port between its choice here and its use. */
const freeRange = { from: 20_000, to: 32_000 };
const attempts = 100;

class NoFreePort extends Error {
  override readonly name = 'NoFreePort';
}

async function listenOn(server: Server, address: ListenOptions): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ ...address, exclusive: true }, resolve);
  });
}

async function listenOnPort(host: string, port: number): Promise<Server> {
  const server = createServer();
  await listenOn(server, { host, port });
  return server;
}

const closeServer = (server: Server): Promise<unknown> => new Promise((resolve) => server.close(resolve));

interface Problem {
  readonly reason: string;
  /** The setting of the port; undefined when no port of this address can be used. */
  readonly setting?: string;
}

/** Explains why nothing can listen on an address, whatever the port. */
const addressProblem = (host: string, error: unknown): Problem => ({
  reason:
    `Cannot listen on ${host}: ${error instanceof Error ? error.message.replace(/:\d+$/, '') : String(error)}.\n` +
    'Set GATEHOUSE_HOST to an address of this machine, or to 0.0.0.0 for all of them. To list them: ip -brief address\n' +
    'PostgreSQL, NATS and the default of GATEHOUSE_HOST need 127.0.0.1.',
});

/** Explains why a port is unusable, and what to do; undefined if the address is. `others` are the settings with the same port. */
async function portProblem(
  request: PortRequest,
  error: unknown,
  others: readonly string[],
): Promise<string | undefined> {
  const { setting, host, port } = request;
  const [other] = others;
  if (error instanceof NoFreePort)
    return `No free port was found on ${host} (${setting}): ${attempts} ports from ${freeRange.from} to ${freeRange.to - 1} are taken.`;
  if (hasCode(error, 'EADDRINUSE') && other !== undefined)
    return `Port ${port} (${setting}) is also set for ${other}. Set one of them to another port, or to 0.`;
  if (hasCode(error, 'EADDRINUSE')) {
    const holder = await findPortHolder(port);
    const taken = `Port ${port} on ${host} (${setting}) is taken`;
    if (holder?.isConnection === true)
      return (
        `${taken} by an outgoing connection${holder.program === undefined ? '' : ` of ${holder.program}`}. ` +
        'It is free again a minute after the connection ends. To reserve it, run as root: ' +
        `sysctl net.ipv4.ip_local_reserved_ports=${port}`
      );
    return holder?.program === undefined
      ? `${taken}. To see which program uses it, run as root: ss -ltnp 'sport = :${port}'`
      : `${taken} by ${holder.program}`;
  }
  if (hasCode(error, 'EACCES')) return `Port ${port} (${setting}) needs root. Choose one above 1023.`;
  return undefined;
}

/** All problems with ports in one error, and one command that starts with other ports. */
function portsError(problems: readonly Problem[]): StartError {
  const settings = problems.flatMap(({ setting }) => (setting === undefined ? [] : [`${setting}=0`]));
  const all = settings.length === 1 ? 'it' : 'all of them';
  const advice =
    settings.length === 0
      ? []
      : [
          `Stop the program that uses the port, or set another port. 0 selects any free port. For ${all}: ${settings.join(' ')} npm start`,
        ];
  return new StartError([...new Set(problems.map(({ reason }) => reason)), ...advice].join('\n'));
}

/**
 * Reserves a port until this process exits, so that no other process chooses it before the listener starts, or while it restarts.
 * The reservation is a socket in Linux's abstract namespace, which the kernel removes with the process.
 * @returns whether no other process, and no earlier choice of this one, has reserved it
 */
async function reservePort(port: number): Promise<boolean> {
  const reservation = createServer((socket) => socket.destroy());
  try {
    await listenOn(reservation, { path: `\0gatehouse-port-${port}` });
  } catch (error) {
    if (hasCode(error, 'EADDRINUSE')) return false;
    throw error;
  }
  reservation.unref();
  return true;
}

async function openPort(request: PortRequest): Promise<{ server: Server; port: number }> {
  if (request.port === 0) return openFree(request.host);
  const server = await listenOnPort(request.host, request.port);
  // The port may be a choice of the process that started this one, and is then reserved there.
  await reservePort(request.port);
  return { server, port: request.port };
}

async function openFree(host: string): Promise<{ server: Server; port: number }> {
  const { from, to } = freeRange;
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const port = from + Math.floor(Math.random() * (to - from));
    try {
      const server = await listenOnPort(host, port);
      if (await reservePort(port)) return { server, port };
      await closeServer(server);
    } catch (error) {
      if (!hasCode(error, 'EADDRINUSE')) throw error;
    }
  }
  throw new NoFreePort();
}

/**
 * Ensures that every port can be used, and chooses the free ones. All are bound at the same time, so that they differ,
 * and released before this returns. Until this process exits, no other choice of a free port returns one of them.
 * @returns the ports, in the requested order
 * @throws StartError with every unusable port, its setting and, if known, the process that uses it
 */
export async function choosePorts(requests: readonly PortRequest[]): Promise<number[]> {
  const held: { readonly server: Server; readonly port: number; readonly setting: string }[] = [];
  const problems: Problem[] = [];
  try {
    for (const request of requests) {
      try {
        held.push({ ...(await openPort(request)), setting: request.setting });
      } catch (error) {
        const others = held.filter(({ port }) => port === request.port).map(({ setting }) => setting);
        const reason = await portProblem(request, error, others);
        problems.push(
          reason === undefined ? addressProblem(request.host, error) : { setting: request.setting, reason },
        );
      }
    }
    if (problems.length > 0) throw portsError(problems);
    return held.map(({ port }) => port);
  } finally {
    await Promise.all(held.map(({ server }) => closeServer(server)));
  }
}
