import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openPaymentDesk } from '../integration/core/payment-desk.ts';
import type { PaymentDesk } from '../integration/core/payment-desk.ts';
import { openWalletSide } from '../integration/wallets/wallet-processes.ts';
import type { WalletSide } from '../integration/wallets/wallet-processes.ts';
import { startProcess } from '../support/gatehouse-process.ts';
import type { GatehouseProcess } from '../support/gatehouse-process.ts';
import { startStack } from '../support/stack.ts';
import type { Stack } from '../support/stack.ts';
import { insist } from '../support/wait-until.ts';
import { startHoldingProxy } from './holding-proxy.ts';
import type { HoldingProxy } from './holding-proxy.ts';
import { ownNats, ownPostgres } from './stoppable-servers.ts';
import type { StoppableServer } from './stoppable-servers.ts';

/** Everything that handles a payment and can be killed. */
export type Part = 'facade' | 'core' | 'wallets' | 'webhooks' | 'simulator' | 'PostgreSQL' | 'NATS';

/** Gatehouse and a wallet simulator with a journal, in processes that a test kills and starts again. */
export interface PaymentSite {
  readonly stack: Stack;
  readonly side: WalletSide;
  readonly desk: PaymentDesk;
  /** Between the `wallets` processes and the simulator; unused unless `holdsAnswers` is set. */
  readonly proxy: HoldingProxy;
  readonly databaseUrl: string;
  /** Such as http://127.0.0.1:40123, which a restart keeps; empty without a facade. */
  readonly sandbox: string;
  readonly kills: () => number;
  /**
   * Sends SIGKILL to the oldest process of a part, or to all of them. The returned function starts the same number
   * again.
   */
  readonly kill: (part: Part, which?: 'oldest' | 'all') => Promise<() => Promise<unknown>>;
  readonly signal: (part: Exclude<Part, 'PostgreSQL' | 'NATS'>, signal: 'SIGSTOP' | 'SIGCONT') => void;
  readonly close: () => Promise<void>;
}

export interface PaymentSiteOptions {
  readonly cores: number;
  readonly wallets: number;
  readonly facades?: 0 | 1;
  readonly webhooks?: 0 | 1;
  /** The factor of the simulated wallets' delays. */
  readonly timeScale: number;
  /** Whether `wallets` calls the simulator through `proxy`, and waits for a held answer. */
  readonly holdsAnswers?: boolean;
  /** Whether PostgreSQL and NATS can be killed as well. */
  readonly ownServers?: boolean;
}

interface Running {
  readonly process: GatehouseProcess;
  readonly startAgain: () => Promise<GatehouseProcess>;
}

/** Starts it. Close it at the end, even after a failure. */
export async function openPaymentSite({
  cores,
  wallets,
  facades = 0,
  webhooks = 0,
  timeScale,
  holdsAnswers = false,
  ownServers = false,
}: PaymentSiteOptions): Promise<PaymentSite> {
  const cleanUps: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  };
  try {
    const servers: Partial<Record<Part, StoppableServer>> = {};
    const settings: Record<string, string> = {};
    if (ownServers) {
      const [postgres, nats] = await Promise.all([ownPostgres(), ownNats()]);
      cleanUps.push(postgres.remove, nats.remove);
      await Promise.all([postgres.start(), nats.start()]);
      Object.assign(servers, { PostgreSQL: postgres, NATS: nats });
      settings['GATEHOUSE_DATABASE_URL'] = postgres.url;
      settings['GATEHOUSE_NATS_URL'] = nats.url;
    }
    const stack = await startStack({ ownProcesses: true, cores, facades, webhooks, settings });
    cleanUps.push(stack.stop);
    const journal = await mkdtemp(join(tmpdir(), 'gatehouse-simulator-'));
    cleanUps.push(() => rm(journal, { recursive: true }));
    const side = openWalletSide(stack, { timeScale, ownProcesses: true });
    cleanUps.push(side.stop);
    const databaseUrl = settings['GATEHOUSE_DATABASE_URL'] ?? stack.databaseUrl;
    const desk = await openPaymentDesk({ ...stack, databaseUrl });
    cleanUps.push(desk.close);
    const proxy = await startHoldingProxy(side.simulatorUrl);
    cleanUps.push(proxy.close);

    const startSimulator = (port = '0') =>
      side.startSimulator({
        GATEHOUSE_SIMULATOR_JOURNAL_DIR: journal,
        GATEHOUSE_SIMULATOR_PORT: port,
      });
    const throughProxy = (id: string) => ({
      settings: { base_url: `${proxy.origin}/${id}` },
      call_timeout_ms: 30_000,
    });
    const startWallets = () =>
      side.startWallets({
        ...(holdsAnswers ? { walleta: throughProxy('walleta'), walletb: throughProxy('walletb') } : {}),
        settings,
      });
    const simulator = await startSimulator();
    const simulatorPort = new URL(side.simulatorUrl()).port;
    const walletProcesses = await Promise.all(Array.from({ length: wallets }, startWallets));
    const running: Record<Exclude<Part, 'PostgreSQL' | 'NATS'>, Running[]> = {
      simulator: [{ process: simulator, startAgain: () => startSimulator(simulatorPort) }],
      wallets: walletProcesses.map((process) => ({ process, startAgain: startWallets })),
      webhooks: stack.webhooks.map((process) => ({ process, startAgain: stack.startWebhooks })),
      core: stack.cores.map((process) => ({
        process,
        startAgain: () => stack.replaceCore({}, String(process.ready['grpc'])),
      })),
      facade: stack.facades.map(({ process, sandbox }) => ({
        process,
        startAgain: async () => {
          const again = await startProcess('rest-facade', {
            GATEHOUSE_CORE_ADDRESSES: stack.addresses.join(','),
            GATEHOUSE_SERVICE_TOKEN: stack.tokens.facade,
            GATEHOUSE_REST_PRODUCTION_PORT: '0',
            GATEHOUSE_REST_SANDBOX_PORT: new URL(sandbox).port,
            ...settings,
          });
          cleanUps.push(again.stop);
          return again;
        },
      })),
    };
    let kills = 0;
    return {
      stack,
      side,
      desk,
      proxy,
      databaseUrl,
      sandbox: stack.facades[0]?.sandbox ?? '',
      kills: () => kills,
      async kill(part, which = 'oldest') {
        if (part === 'PostgreSQL' || part === 'NATS') {
          kills += 1;
          const server = servers[part];
          if (server === undefined) throw new Error(`${part} is not this site's own`);
          server.kill();
          // Not restarted by its supervisor, which waits longer after each crash.
          await server.stop();
          return () => insist(`${part} starts again`, server.start);
        }
        const all = running[part];
        const killed = which === 'all' ? all.splice(0) : all.splice(0, 1);
        kills += killed.length;
        await Promise.all(killed.map(({ process }) => process.stop('SIGKILL')));
        return () =>
          Promise.all(
            killed.map(async ({ startAgain }) => {
              all.push({ process: await startAgain(), startAgain });
            }),
          );
      },
      signal(part, signal) {
        for (const { process } of running[part]) process.signal(signal);
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
