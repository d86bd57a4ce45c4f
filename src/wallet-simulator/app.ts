import Fastify from 'fastify';
import type { FastifyInstance } from 'fastify';
import { edgeServerOptions, protectEdge } from '../platform/http/edge-server.ts';
import type { Logger } from '../platform/logger.ts';
import { addAdminEndpoints } from './admin-endpoints.ts';
import type { DelaysMs } from './delays.ts';
import { refusedError } from './gsma/refusal.ts';
import { createMemoryJournal } from './journal.ts';
import type { JournalFile } from './journal.ts';
import type { Ledger } from './ledger.ts';
import { addPage } from './page.ts';
import { protocols } from './protocols.ts';
import type { ProtocolName } from './protocols.ts';
import { createRepeatingTimers } from './repeating-timers.ts';
import { createReceivedRequests } from './received-requests.ts';
import type { SimulatedProtocol, SimulatedWallet, Timers } from './simulated-wallet.ts';

/** One wallet and its base path. */
export interface MountedWallet {
  /** Its name in the admin API and on the page. */
  readonly id: string;
  readonly protocol: ProtocolName;
  /** Such as `/walleta`, but not `/` or `/simulator`, which belong to the page and the admin API. */
  readonly basePath: string;
  /** Valid for the protocol. */
  readonly credentials: unknown;
  /** Empty at first. The journal's entries are posted to it. */
  readonly ledger: Ledger;
  /** The wallet's earlier state, and where it writes new entries. Without a journal, a restart loses the state. */
  readonly journal?: JournalFile | undefined;
}

export interface WalletSimulatorOptions {
  readonly wallets: readonly MountedWallet[];
  /** Whether payers without a fixed outcome wait for a person to approve or decline. */
  readonly interactive: boolean;
  readonly delaysMs: DelaysMs;
  /** The lifetime of an access token. */
  readonly tokenLifetimeSeconds: number;
  /** The time limit of a callback, in real milliseconds. */
  readonly callbackTimeoutMs: number;
  readonly after: Timers;
  readonly now: () => Date;
  readonly newUuid: () => string;
  readonly randomBytes: (count: number) => Buffer;
  readonly logger: Logger;
}

const maxBodyBytes = 64 * 1024;

/**
 * The wallets, the admin API under /simulator and the page, ready to listen. The state is restored from the journals.
 * `close()` cancels all pending events and closes hanging connections.
 */
export async function buildWalletSimulator(options: WalletSimulatorOptions): Promise<FastifyInstance> {
  const { logger, interactive } = options;
  const edge = { logger, trustedProxies: [], newRequestId: options.newUuid };
  const app = Fastify({
    ...edgeServerOptions(edge),
    // Some outcomes leave a connection silent for longer than any other server would.
    connectionTimeout: 0,
    bodyLimit: maxBodyBytes,
    forceCloseConnections: true,
    rewriteUrl: ({ url = '/' }) => withBasePath(options.wallets, url),
    routerOptions: { maxParamLength: 256 },
    ajv: {
      customOptions: {
        allErrors: true,
        coerceTypes: false,
        removeAdditional: false,
        useDefaults: false,
        // Lets an error distinguish a negative amount from a malformed one.
        verbose: true,
      },
    },
  });
  protectEdge(app, edge, ({ field, issue }) =>
    // The status is for routes outside the wallets, which have no error objects.
    Object.assign(refusedError('validation', 'formatError', `${field} ${issue}`), { statusCode: 400 }),
  );
  const closing = new AbortController();
  const received = createReceivedRequests();
  const after = createRepeatingTimers(options.after, logger);
  const wallets: SimulatedWallet[] = [];
  logWhenAnswered(app, logger);
  app.addHook('onClose', async () => {
    closing.abort();
    for (const wallet of wallets) wallet.close();
  });
  app.get('/healthz', () => ({ status: 'ok' }));
  for (const { protocol, basePath, ledger, journal = createMemoryJournal(), ...given } of options.wallets) {
    const context = {
      ...options,
      ...given,
      basePath,
      ledger,
      journal,
      received,
      after,
      closing: closing.signal,
    };
    await app.register(async (scope) => void wallets.push(await protocols[protocol].mount(scope, context)), {
      prefix: requireBasePath(basePath),
    });
  }
  await app.register(async (scope) => addAdminEndpoints(scope, { wallets, received }), {
    prefix: '/simulator',
  });
  await app.register(async (scope) => addPage(scope, { wallets, interactive }));
  return app;
}

/** The path, if it is valid. @throws RangeError for an invalid one. */
function requireBasePath(path: string): string {
  if (/^(\/[a-z0-9._-]+)+$/.test(path) && path !== '/simulator') return path;
  throw new RangeError(`a wallet cannot be mounted at "${path}": give it a path such as /walleta`);
}

/** The URL below the base path of its wallet. A protocol may also answer at the root, or below the path of its sandbox. Other URLs stay. */
function withBasePath(wallets: readonly MountedWallet[], url: string): string {
  const atRoot = wallets.find(({ protocol }) => protocolOf(protocol).rootPaths?.test(url));
  if (atRoot !== undefined) return `${atRoot.basePath}${url}`;
  for (const { protocol, basePath } of wallets) {
    const { sandboxPath } = protocolOf(protocol);
    const start = `${basePath}${sandboxPath ?? ''}/`;
    if (sandboxPath !== undefined && url.startsWith(start)) return `${basePath}/${url.slice(start.length)}`;
  }
  return url;
}

const protocolOf = (name: ProtocolName): SimulatedProtocol => protocols[name];

/** Clients send UUIDs. */
const maxCorrelationIdLength = 64;

/** One line per request, with the route's pattern, because paths and bodies contain phone numbers. */
function logWhenAnswered(app: FastifyInstance, logger: Logger): void {
  app.addHook('onResponse', async (request, reply) => {
    const route = request.routeOptions.url;
    const quiet = route === '/live' || route === '/healthz';
    logger[quiet ? 'debug' : 'info'](
      {
        method: request.method,
        route,
        status: reply.statusCode,
        duration_ms: Math.round(reply.elapsedTime * 100) / 100,
        correlation_id:
          String(request.headers['x-correlationid'] ?? '').slice(0, maxCorrelationIdLength) || undefined,
      },
      'request',
    );
  });
}
