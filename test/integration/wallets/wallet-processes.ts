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

type Settings = Readonly<Record<string, string>>;

/** The differences from the usual processes that a test needs. */
interface OwnWallets {
  /** The changes by wallet. */
  readonly walleta?: DifferentWallet;
  readonly walletb?: DifferentWallet;
  readonly settings?: Settings;
}

type ProcessName = 'wallet-simulator' | 'wallets';

/**
 * A wallet simulator and processes that call it, each started when a test needs it. `ownProcesses` are those of the two
 * that run as processes of their own, or true for both.
 */
export function openWalletSide(
  stack: Stack,
  {
    timeScale = 0.02,
    ownProcesses = false,
  }: { timeScale?: number; ownProcesses?: boolean | readonly ProcessName[] } = {},
) {
  const simulated = simulatedWallets(timeScale);
  const started: GatehouseProcess[] = [];
  let simulatorUrl = '';
  const start = async (name: ProcessName, settings: Settings): Promise<GatehouseProcess> => {
    const isOwn = typeof ownProcesses === 'boolean' ? ownProcesses : ownProcesses.includes(name);
    const process = await (isOwn ? startProcess : startInline)(name, settings);
    started.push(process);
    return process;
  };
  return {
    callbackKey: Buffer.from(simulated.callbackKey, 'hex'),
    startSimulator: async (settings: Settings = {}): Promise<GatehouseProcess> => {
      const simulator = await start('wallet-simulator', { ...simulated.simulatorSettings, ...settings });
      simulatorUrl = String(simulator.ready['origin']);
      return simulator;
    },
    simulatorUrl: () => simulatorUrl,
    /** The settings that tell a process about the wallets. */
    walletVariables: (): Settings => ({ GATEHOUSE_WALLETS: demoWallets(simulatorUrl), ...simulated.secrets }),
    startWallets: ({ settings = {}, ...different }: OwnWallets = {}): Promise<GatehouseProcess> => {
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
    /** All real charges. */
    charges: async (): Promise<Charge[]> => {
      const response = await fetch(`${simulatorUrl}/simulator/charges`);
      return ((await response.json()) as { charges: Charge[] }).charges;
    },
    stop: async (): Promise<void> => {
      await Promise.all(started.map((process) => process.stop()));
    },
  };
}
export type WalletSide = ReturnType<typeof openWalletSide>;

/** One for all tests of a file, with processes in the test's process. */
export const sharedWalletSide = (stack: Stack): WalletSide =>
  shared(() => Promise.resolve(openWalletSide(stack)));
