import { createServer } from 'node:net';
import type { Server } from 'node:net';
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

async function listen(host: string, port: number): Promise<Server> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, exclusive: true }, resolve);
  });
  return server;
}

/** Explains why a port is unusable, and what to do. `others` are the settings with the same port. */
async function portProblem(request: PortRequest, error: unknown, others: readonly string[]): Promise<string> {
  const { setting, host, port } = request;
  const [other] = others;
  if (hasCode(error, 'EADDRINUSE') && other !== undefined)
    return `Port ${port} (${setting}) is also set for ${other}. Set one of them to another port, or to 0.`;
  if (hasCode(error, 'EADDRINUSE')) {
    const holder = await findPortHolder(port);
    const who =
      holder === undefined
        ? `taken. To see which program uses it, run as root: ss -ltnp 'sport = :${port}'`
        : `taken by ${holder}`;
    return `Port ${port} on ${host} (${setting}) is ${who}`;
  }
  if (hasCode(error, 'EACCES')) return `Port ${port} (${setting}) needs root. Choose one above 1023.`;
  return `Cannot listen on ${host}:${port} (GATEHOUSE_HOST, ${setting}): ${String(error)}`;
}

/** All problems with ports in one error, and one command that starts with other ports. */
function refuse(problems: readonly { readonly setting: string; readonly reason: string }[]): StartError {
  const settings = problems.map(({ setting }) => `${setting}=0`).join(' ');
  const all = problems.length === 1 ? 'it' : 'all of them';
  return new StartError(
    [
      ...problems.map(({ reason }) => reason),
      `Stop the program that uses the port, or set another port. 0 selects any free port. For ${all}: ${settings} npm start`,
    ].join('\n'),
  );
}

async function open(request: PortRequest): Promise<{ server: Server; port: number }> {
  for (let attempt = 1; ; attempt++) {
    const { from, to } = freeRange;
    const port = request.port === 0 ? from + Math.floor(Math.random() * (to - from)) : request.port;
    try {
      return { server: await listen(request.host, port), port };
    } catch (error) {
      const taken = hasCode(error, 'EADDRINUSE');
      if (request.port !== 0 || !taken || attempt === attempts) throw error;
    }
  }
}

/**
 * Ensures that every port can be used, and chooses the free ones. All are bound at the same time, so that they differ,
 * and released before this returns.
 * @returns the ports, in the requested order
 * @throws StartError with every unusable port, its setting and, if known, the process that uses it
 */
export async function choosePorts(requests: readonly PortRequest[]): Promise<number[]> {
  const held: { readonly server: Server; readonly port: number; readonly setting: string }[] = [];
  const problems: { readonly setting: string; readonly reason: string }[] = [];
  try {
    for (const request of requests) {
      try {
        held.push({ ...(await open(request)), setting: request.setting });
      } catch (error) {
        const others = held.filter(({ port }) => port === request.port).map(({ setting }) => setting);
        problems.push({ setting: request.setting, reason: await portProblem(request, error, others) });
      }
    }
    if (problems.length > 0) throw refuse(problems);
    return held.map(({ port }) => port);
  } finally {
    await Promise.all(held.map(({ server }) => new Promise((resolve) => server.close(resolve))));
  }
}
