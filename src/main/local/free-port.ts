import { createServer } from 'node:net';
import type { Server } from 'node:net';
import { hasCode } from './error-code.ts';
import { StartError } from './start-error.ts';

/** A listener to be: the setting its port comes from, and where it will listen. Port 0 stands for any free one. */
export interface PortRequest {
  readonly setting: string;
  readonly host: string;
  readonly port: number;
}

/**
 * Below the range the system gives to outgoing connections, so that none of those takes the port between its choice
 * here and its use.
 */
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

function whyNot(request: PortRequest, error: unknown): StartError {
  const { setting, host, port } = request;
  if (hasCode(error, 'EADDRINUSE'))
    return new StartError(
      `Port ${port} on ${host} (${setting}) is taken. See who has it with: ss -ltnp 'sport = :${port}'\n` +
        `Stop that, or start with another port, or 0 for any free one: ${setting}=0 npm start`,
    );
  if (hasCode(error, 'EACCES'))
    return new StartError(
      `Port ${port} (${setting}) needs root. Choose one above 1023: ${setting}=0 takes a free one.`,
    );
  return new StartError(`Cannot listen on ${host}:${port} (GATEHOUSE_HOST, ${setting}): ${String(error)}`);
}

async function open(request: PortRequest): Promise<{ server: Server; port: number }> {
  for (let attempt = 1; ; attempt++) {
    const { from, to } = freeRange;
    const port = request.port === 0 ? from + Math.floor(Math.random() * (to - from)) : request.port;
    try {
      return { server: await listen(request.host, port), port };
    } catch (error) {
      const taken = hasCode(error, 'EADDRINUSE');
      if (request.port !== 0 || !taken || attempt === attempts) throw whyNot({ ...request, port }, error);
    }
  }
}

/**
 * Makes sure that every port can be listened on, and chooses the free ones. They are all held at once, so two of them
 * are never the same, and let go before this returns.
 * @returns the ports, in the order asked
 * @throws StartError naming the setting and the port that is taken
 */
export async function choosePorts(requests: readonly PortRequest[]): Promise<number[]> {
  const servers: Server[] = [];
  const ports: number[] = [];
  try {
    for (const request of requests) {
      const { server, port } = await open(request);
      servers.push(server);
      ports.push(port);
    }
    return ports;
  } finally {
    await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  }
}
