import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { startProcess } from '../../support/gatehouse-process.ts';
import type { GatehouseProcess } from '../../support/gatehouse-process.ts';
import { startInline } from '../../support/inline-process.ts';
import { sharedServers } from '../../support/servers.ts';
import { shared } from '../../support/shared-stack.ts';
import { demoWallets, simulatedWallets } from '../../support/simulated-wallets.ts';
import type { DifferentWallet } from '../../support/simulated-wallets.ts';
import type { Stack } from '../../support/stack.ts';

/** The wallet's ledger entry of a payment that moved money. */
export interface Charge {
  readonly payer: string;
  readonly amount: string;
  readonly correlation_id: string;
  readonly reversed: string;
}

/** The differences from the usual processes that a test needs. */
export interface OwnWallets {
  /** The changes by wallet. */
  readonly walleta?: DifferentWallet;
  readonly walletb?: DifferentWallet;
  readonly settings?: Readonly<Record<string, string>>;
}

/** A wallet simulator and processes that call it, each started when a test needs it. */
export interface WalletSide {
  readonly callbackKey: Buffer;
  readonly startSimulator: (settings?: Readonly<Record<string, string>>) => Promise<GatehouseProcess>;
  readonly simulatorUrl: () => string;
  /** The settings that tell a process about the wallets. */
  readonly walletVariables: () => Readonly<Record<string, string>>;
  readonly startWallets: (own?: OwnWallets) => Promise<GatehouseProcess>;
  /** All real charges. */
  readonly charges: () => Promise<Charge[]>;
  readonly stop: () => Promise<void>;
}

/** `ownProcesses`: those of the two that run as processes of their own, or true for both. */
export function openWalletSide(
  stack: Stack,
  {
    timeScale = 0.02,
    ownProcesses = false,
  }: { timeScale?: number; ownProcesses?: boolean | readonly ('wallet-simulator' | 'wallets')[] } = {},
): WalletSide {
  const simulated = simulatedWallets(timeScale);
  const started: GatehouseProcess[] = [];
  let simulatorUrl = '';
  const start = async (
    name: 'wallet-simulator' | 'wallets',
    settings: Readonly<Record<string, string>>,
  ): Promise<GatehouseProcess> => {
    const isOwn = typeof ownProcesses === 'boolean' ? ownProcesses : ownProcesses.includes(name);
    const process = await (isOwn ? startProcess : startInline)(name, settings);
    started.push(process);
    return process;
  };
  return {
    callbackKey: Buffer.from(simulated.callbackKey, 'hex'),
    async startSimulator(settings = {}) {
      const simulator = await start('wallet-simulator', { ...simulated.simulatorSettings, ...settings });
      simulatorUrl = String(simulator.ready['origin']);
      return simulator;
    },
    simulatorUrl: () => simulatorUrl,
    walletVariables: () => ({ GATEHOUSE_WALLETS: demoWallets(simulatorUrl), ...simulated.secrets }),
    startWallets({ settings = {}, ...different } = {}) {
      return start('wallets', {
        GATEHOUSE_CORE_ADDRESSES: stack.addresses.join(','),
        GATEHOUSE_SERVICE_TOKEN: stack.tokens.wallets,
        GATEHOUSE_NATS_URL: sharedServers().natsUrl,
        GATEHOUSE_WALLET_CALLBACK_PORT: '0',
        GATEHOUSE_WALLET_CALLBACK_KEY: simulated.callbackKey,
        GATEHOUSE_WALLETS: demoWallets(simulatorUrl, different),
        ...simulated.secrets,
        ...settings,
      });
    },
    async charges() {
      const response = await fetch(`${simulatorUrl}/simulator/charges`);
      return ((await response.json()) as { charges: Charge[] }).charges;
    },
    async stop() {
      await Promise.all(started.map((process) => process.stop()));
    },
  };
}

/** One for all tests of a file, with processes in the test's process. */
export const sharedWalletSide = (stack: Stack): WalletSide =>
  shared(
    () => Promise.resolve(openWalletSide(stack)),
    ({ stop }) => stop(),
  );

/** A port on which nothing listens now. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** A server that accepts connections and never sends anything. */
export async function startSilentServer(): Promise<{
  readonly url: string;
  readonly stop: () => Promise<void>;
}> {
  const sockets = new Set<{ destroy: () => void }>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.resume();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
