import Fastify from 'fastify';
import type { FastifyInstance } from 'fastify';
import { edgeServerOptions, protectEdge } from '../platform/http/edge-server.ts';
import type { Logger } from '../platform/logger.ts';
import type { AccessTokens } from './access-tokens.ts';
import { addAdminEndpoints } from './admin-endpoints.ts';
import { createCallbackSender } from './callbacks.ts';
import type { Credentials } from './callbacks.ts';
import type { DelaysMs } from './delays.ts';
import { createMemoryJournal } from './journal.ts';
import type { Journal } from './journal.ts';
import type { Ledger } from './ledger.ts';
import type { WalletName } from './outcomes.ts';
import { addPage } from './page.ts';
import { createReceivedRequests } from './received-requests.ts';
import { refuse } from './refusal.ts';
import type { Timers } from './request-course.ts';
import { addWalletApi } from './wallet-api.ts';
import { createWallet } from './wallet.ts';

/** One wallet and its base path. */
export interface MountedWallet {
  readonly wallet: WalletName;
  /** Such as `/walleta`, but not `/` or `/simulator`, which belong to the page and the admin API. */
  readonly basePath: string;
  readonly credentials: Credentials;
  /** Empty at first. The journal's entries are posted to it. */
  readonly ledger: Ledger;
  /** The wallet's earlier state, and where it writes new entries. Without a journal, a restart loses the state. */
  readonly journal?: Journal | undefined;
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
  const { logger, now, after, randomBytes, interactive } = options;
  const edge = { logger, trustedProxies: [], newRequestId: options.newUuid };
  const app = Fastify({
    ...edgeServerOptions(edge),
    bodyLimit: maxBodyBytes,
    forceCloseConnections: true,
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
    Object.assign(refuse('validation', 'formatError', `${field} ${issue}`), { statusCode: 400 }),
  );
  const closing = new AbortController();
  const received = createReceivedRequests();
  const tokens: AccessTokens[] = [];
  const mounts = options.wallets.map(
    ({ wallet: name, basePath, credentials, ledger, journal = createMemoryJournal() }) => {
      const callBack = createCallbackSender({
        credentials,
        now,
        timeoutMs: options.callbackTimeoutMs,
        closing: closing.signal,
      });
      const wallet = createWallet({ ...options, wallet: name, ledger, journal, callBack });
      return { prefix: requireBasePath(basePath), credentials, wallet };
    },
  );
  const wallets = mounts.map(({ wallet }) => wallet);
  logWhenAnswered(app, logger);
  app.addHook('onClose', async () => {
    closing.abort();
    for (const wallet of wallets) wallet.close();
  });
  app.get('/healthz', () => ({ status: 'ok' }));
  const { delaysMs, tokenLifetimeSeconds } = options;
  for (const { prefix, credentials, wallet } of mounts) {
    const api = { wallet, credentials, received, after, now, randomBytes, tokenLifetimeSeconds };
    await app.register(
      async (scope) => void tokens.push(await addWalletApi(scope, { ...api, hangMs: delaysMs.hang })),
      { prefix },
    );
  }
  await app.register(async (scope) => addAdminEndpoints(scope, { wallets, tokens, received }), {
    prefix: '/simulator',
  });
  await app.register(async (scope) => addPage(scope, { wallets, interactive }));
  return app;
}

/**
 *
 * @throws RangeError for an invalid base path.
 */
function requireBasePath(path: string): string {
  if (/^(\/[a-z0-9._-]+)+$/.test(path) && path !== '/simulator') return path;
  throw new RangeError(`a wallet cannot be mounted at "${path}": give it a path such as /walleta`);
}

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
