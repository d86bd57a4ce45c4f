import { randomBytes } from 'node:crypto';
import type { Role } from '../../src/contract/roles.ts';
import { roles } from '../../src/contract/roles.ts';
import { startTemporaryNats } from '../../src/main/local/temporary-servers.ts';
import type { GatehouseProcess } from './gatehouse-process.ts';
import { startProcess } from './gatehouse-process.ts';
import { startInline } from './inline-process.ts';
import { sharedServers } from './servers.ts';
import { simulatedWallets } from './simulated-wallets.ts';
import { createTestDatabase } from './test-database.ts';

/** The servers and secrets that the processes of a stack share. They outlive the processes. */
export interface StackGround {
  readonly databaseUrl: string;
  readonly natsUrl: string;
  readonly tokens: Readonly<Record<Role, string>>;
  readonly masterKey: string;
  readonly webhookSecretKeys: string;
  readonly simulated: ReturnType<typeof simulatedWallets>;
  /** Undefined without wallets. */
  readonly simulator: GatehouseProcess | undefined;
  /** Empty without wallets. */
  readonly simulatorUrl: string;
  readonly close: () => Promise<void>;
}

export interface StackGroundOptions {
  readonly wallets: number;
  readonly walletTimeScale: number;
  readonly webhooks: number;
  readonly settings: Readonly<Record<string, string>>;
  readonly ownProcesses: boolean;
  /** False: an empty database, which its first core migrates. */
  readonly migrated?: boolean;
}

export async function openStackGround({
  wallets,
  walletTimeScale,
  webhooks,
  settings,
  ownProcesses,
  migrated = true,
}: StackGroundOptions): Promise<StackGround> {
  const closers: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    for (const closer of closers.splice(0).reverse()) await closer();
  };
  // All readers with the same name share their position at a broker. So a stack with readers gets its own broker.
  const openBroker = async (): Promise<string> => {
    if (webhooks === 0 || 'GATEHOUSE_NATS_URL' in settings) return sharedServers().natsUrl;
    const broker = await startTemporaryNats();
    closers.push(broker.stop);
    return broker.url;
  };
  const simulated = simulatedWallets(walletTimeScale);
  const startSimulator = async (): Promise<GatehouseProcess | undefined> => {
    if (wallets === 0) return undefined;
    const start = ownProcesses ? startProcess : startInline;
    const simulator = await start('wallet-simulator', { ...simulated.simulatorSettings });
    closers.push(() => simulator.stop());
    return simulator;
  };
  try {
    const database = await createTestDatabase({ migrated });
    closers.push(database.drop);
    const natsUrl = await openBroker();
    const simulator = await startSimulator();
    return {
      databaseUrl: database.url,
      natsUrl,
      tokens: Object.fromEntries(roles.map((role) => [role, randomBytes(16).toString('hex')])) as Record<
        Role,
        string
      >,
      masterKey: randomBytes(32).toString('hex'),
      webhookSecretKeys: `test:${randomBytes(32).toString('hex')}`,
      simulated,
      simulator,
      simulatorUrl: simulator === undefined ? '' : String(simulator.ready['origin']),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
