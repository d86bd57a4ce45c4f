import { createClient } from '@connectrpc/connect';
import type { Client } from '@connectrpc/connect';
import type { DescService } from '@bufbuild/protobuf';
import { ApiKeyScope, ApiKeyService } from '../../src/gen/gatehouse/v1/api_key_service_pb.js';
import { MerchantService } from '../../src/gen/gatehouse/v1/merchant_service_pb.js';
import { Environment } from '../../src/gen/gatehouse/v1/order_pb.js';
import { WebhookEndpointService } from '../../src/gen/gatehouse/v1/webhook_endpoint_service_pb.js';
import { WebhookService } from '../../src/gen/gatehouse/v1/webhook_service_pb.js';
import { createGrpcTransport } from '../../src/contract/grpc-transport.ts';
import type { Role } from '../../src/contract/roles.ts';
import { roles } from '../../src/contract/roles.ts';
import { startProcess } from './gatehouse-process.ts';
import type { GatehouseProcess } from './gatehouse-process.ts';
import { hangMs } from './wait-until.ts';
import { startInline } from './inline-process.ts';
import { demoWallets, walletsOfCore } from './simulated-wallets.ts';
import { openStackGround } from './stack-ground.ts';
import type { StackGround } from './stack-ground.ts';

export type StackProcess =
  | 'core'
  | 'rest-facade'
  | 'wallets'
  | 'wallet-simulator'
  | 'checkout'
  | 'dashboard'
  | 'webhooks';

export interface StackOptions {
  readonly cores?: number;
  readonly facades?: number;
  /** The number of `wallets` processes. The simulator is started when there is at least one. */
  readonly wallets?: number;
  /** The factor of the simulated wallets' delays. */
  readonly walletTimeScale?: number;
  readonly checkouts?: number;
  readonly dashboards?: number;
  /** The number of `webhooks` processes. Those of the sandbox may connect to this machine. */
  readonly webhooks?: number;
  /** Added to every process's settings. */
  readonly settings?: Readonly<Record<string, string>>;
  /**
   * For tests that kill, freeze or measure processes: the processes that run as their own, or true for all. All others run within
   * the test's process, which is much faster.
   */
  readonly ownProcesses?: boolean | readonly StackProcess[];
  /** The folder of another version of this project, and the processes that run from there, as processes of their own. */
  readonly previous?: { readonly folder: string; readonly processes: readonly string[] };
  /** The ground of an earlier stack, whose processes have stopped: this one continues its work. By default, a new ground. */
  readonly ground?: StackGround;
}

export interface Facade {
  readonly process: GatehouseProcess;
  readonly production: string;
  readonly sandbox: string;
}

export interface CheckoutPages {
  readonly process: GatehouseProcess;
  /** The address of the pages. Checkout URLs of core have another host unless core gets this one as a setting. */
  readonly origin: string;
}

export interface DashboardPages {
  readonly process: GatehouseProcess;
  readonly origin: string;
}

/** Gatehouse's processes on their own database, as an operator would run them. */
export interface Stack {
  readonly databaseUrl: string;
  /** For a stack that continues the work of this one. */
  readonly ground: StackGround;
  readonly cores: readonly GatehouseProcess[];
  readonly facades: readonly Facade[];
  readonly wallets: readonly GatehouseProcess[];
  /** The wallet simulator's process; undefined without wallets. */
  readonly simulator: GatehouseProcess | undefined;
  /** The address of the wallet simulator; empty without wallets. */
  readonly simulatorUrl: string;
  readonly checkouts: readonly CheckoutPages[];
  readonly dashboards: readonly DashboardPages[];
  readonly webhooks: readonly GatehouseProcess[];
  /** gRPC addresses of the cores. */
  readonly addresses: readonly string[];
  readonly connectUrl: string;
  readonly tokens: Readonly<Record<Role, string>>;
  /** The settings for another core of this stack. */
  readonly coreSettings: Readonly<Record<string, string>>;
  /** The settings for another `webhooks` process of this stack. */
  readonly webhookSettings: Readonly<Record<string, string>>;
  readonly client: <S extends DescService>(service: S, role: Role) => Client<S>;
  /** A client of one of the `webhooks` processes, by default of the first. */
  readonly webhookClient: (role: Role, webhooks?: GatehouseProcess) => Client<typeof WebhookService>;
  readonly webhookEndpointClient: (
    role: Role,
    webhooks?: GatehouseProcess,
  ) => Client<typeof WebhookEndpointService>;
  /** `signsWebhooks`: its signing secrets were shown, so webhooks to its orders' webhook_urls do not wait. */
  readonly createMerchant: (options?: {
    productionActivated?: boolean;
    signsWebhooks?: boolean;
    /** Whether its key for the sandbox has the scope for refunds. */
    mayRefund?: boolean;
    /** The id of a merchant that a restore lost. */
    merchantId?: string;
  }) => Promise<TestMerchant>;
  /** Starts another `wallets` process. */
  readonly startWallets: () => Promise<GatehouseProcess>;
  /** Starts another `webhooks` process. */
  readonly startWebhooks: () => Promise<GatehouseProcess>;
  /** Starts another core, whose address no facade has. */
  readonly startCore: (own?: Readonly<Record<string, string>>) => Promise<GatehouseProcess>;
  /** Starts a core in the place of one that has ended, by default of the first, as a supervisor does. */
  readonly replaceCore: (
    settings?: Readonly<Record<string, string>>,
    address?: string,
  ) => Promise<GatehouseProcess>;
  /** Stops the processes, and closes the ground unless the options named it. */
  readonly stop: () => Promise<void>;
}

export interface TestMerchant {
  readonly id: string;
  readonly testKey: string;
  readonly liveKey: string;
}

/** Starts a stack. Stop it at the end, even after a failure. */
export async function startStack({
  cores = 1,
  facades = 1,
  wallets = 0,
  walletTimeScale = 0.02,
  checkouts = 0,
  dashboards = 0,
  webhooks = 0,
  settings = {},
  ownProcesses = false,
  previous,
  ground: givenGround,
}: StackOptions = {}): Promise<Stack> {
  const isOwn = (name: StackProcess): boolean =>
    typeof ownProcesses === 'boolean' ? ownProcesses : ownProcesses.includes(name);
  const ownSimulator = isOwn('wallet-simulator');
  const ground =
    givenGround ??
    (await openStackGround({ wallets, walletTimeScale, webhooks, settings, ownProcesses: ownSimulator }));
  const { databaseUrl, natsUrl, tokens, simulator, simulatorUrl, simulated } = ground;
  const transports: { close: () => void }[] = [];
  const edgeStops = startedProcesses();
  const coreStops = startedProcesses();
  const stop = async (): Promise<void> => {
    for (const transport of transports) transport.close();
    await edgeStops.stop();
    await coreStops.stop();
    if (givenGround === undefined) await ground.close();
  };
  const coreSettings = {
    GATEHOUSE_DATABASE_URL: databaseUrl,
    GATEHOUSE_NATS_URL: natsUrl,
    GATEHOUSE_MASTER_KEY: ground.masterKey,
    GATEHOUSE_SERVICE_TOKENS: roles.map((role) => `${role}:${tokens[role]}`).join(','),
    GATEHOUSE_CORE_GRPC_PORT: '0',
    GATEHOUSE_CORE_CONNECT_PORT: '0',
    GATEHOUSE_WALLETS: walletsOfCore(),
    // Tests prompt the same phone repeatedly. Tests of the limit set it.
    GATEHOUSE_PHONE_PROMPTS_PER_10_MINUTES: '0',
    ...settings,
  };
  const startIn = (name: StackProcess, own: Readonly<Record<string, string>>): Promise<GatehouseProcess> => {
    if (previous?.processes.includes(name) === true) return startProcess(name, own, previous.folder);
    return isOwn(name) ? startProcess(name, own) : startInline(name, own);
  };
  const startCore = (own: Readonly<Record<string, string>> = {}): Promise<GatehouseProcess> =>
    startIn('core', { ...coreSettings, ...own }).then(coreStops.add);
  const startEdge = (name: StackProcess, own: Readonly<Record<string, string>>): Promise<GatehouseProcess> =>
    startIn(name, { ...own, ...settings }).then(edgeStops.add);
  try {
    const coreProcesses: GatehouseProcess[] = [];
    for (let index = 0; index < cores; index += 1) coreProcesses.push(await startCore());
    const addresses = coreProcesses.map(({ ready }) => String(ready['grpc']));
    const startFacade = async (): Promise<Facade> => {
      const facade = await startEdge('rest-facade', {
        GATEHOUSE_CORE_ADDRESSES: addresses.join(','),
        GATEHOUSE_WEBHOOKS_ADDRESSES: webhookAddressesOf(await startingWebhooks),
        GATEHOUSE_SERVICE_TOKEN: tokens.facade,
        GATEHOUSE_REST_PRODUCTION_PORT: '0',
        GATEHOUSE_REST_SANDBOX_PORT: '0',
      });
      return {
        process: facade,
        production: String(facade.ready['production']),
        sandbox: String(facade.ready['sandbox']),
      };
    };
    const startCheckout = async (): Promise<CheckoutPages> => {
      const checkout = await startEdge('checkout', {
        GATEHOUSE_CORE_ADDRESSES: addresses.join(','),
        GATEHOUSE_SERVICE_TOKEN: tokens.checkout,
        GATEHOUSE_CHECKOUT_PORT: '0',
      });
      return { process: checkout, origin: String(checkout.ready['checkout']) };
    };
    const startWallets = (): Promise<GatehouseProcess> =>
      startEdge('wallets', {
        GATEHOUSE_CORE_ADDRESSES: addresses.join(','),
        GATEHOUSE_SERVICE_TOKEN: tokens.wallets,
        GATEHOUSE_NATS_URL: natsUrl,
        GATEHOUSE_WALLET_CALLBACK_PORT: '0',
        GATEHOUSE_WALLET_CALLBACK_KEY: simulated.callbackKey,
        GATEHOUSE_WALLETS: demoWallets(simulatorUrl),
        ...simulated.secrets,
      });
    const webhookSettings = {
      GATEHOUSE_CORE_ADDRESSES: addresses.join(','),
      GATEHOUSE_SERVICE_TOKEN: tokens.webhooks,
      GATEHOUSE_SERVICE_TOKENS: coreSettings.GATEHOUSE_SERVICE_TOKENS,
      GATEHOUSE_DATABASE_URL: databaseUrl,
      GATEHOUSE_NATS_URL: natsUrl,
      GATEHOUSE_WEBHOOKS_GRPC_PORT: '0',
      GATEHOUSE_WEBHOOKS_CONNECT_PORT: '0',
      GATEHOUSE_WEBHOOK_SECRET_KEYS: ground.webhookSecretKeys,
      GATEHOUSE_WEBHOOK_SANDBOX_NETWORKS: '127.0.0.0/8',
      ...settings,
    };
    const startWebhooks = (): Promise<GatehouseProcess> => startEdge('webhooks', webhookSettings);
    const startingWebhooks = several(webhooks, startWebhooks);
    const [facadeProcesses, checkoutProcesses, walletProcesses, webhookProcesses] = await Promise.all([
      several(facades, startFacade),
      several(checkouts, startCheckout),
      several(wallets, startWallets),
      startingWebhooks,
    ]);
    const dashboardProcesses = await several(dashboards, async () => {
      const dashboard = await startEdge('dashboard', {
        GATEHOUSE_CORE_ADDRESSES: addresses.join(','),
        GATEHOUSE_WEBHOOKS_ADDRESSES: webhookAddressesOf(webhookProcesses),
        GATEHOUSE_SERVICE_TOKEN: tokens.dashboard,
        GATEHOUSE_DASHBOARD_PORT: '0',
      });
      return { process: dashboard, origin: String(dashboard.ready['dashboard']) };
    });
    const client = <S extends DescService>(service: S, role: Role): Client<S> => {
      const transport = createGrpcTransport({ addresses, token: tokens[role] });
      transports.push(transport);
      return createClient(service, transport);
    };
    const webhookTransport = (role: Role, asked: GatehouseProcess | undefined) => {
      const transport = createGrpcTransport({
        addresses: [String(asked?.ready['grpc'])],
        token: tokens[role],
      });
      transports.push(transport);
      return transport;
    };
    const webhookClient = (role: Role, asked = webhookProcesses[0]): Client<typeof WebhookService> =>
      createClient(WebhookService, webhookTransport(role, asked));
    const webhookEndpointClient = (
      role: Role,
      asked = webhookProcesses[0],
    ): Client<typeof WebhookEndpointService> =>
      createClient(WebhookEndpointService, webhookTransport(role, asked));
    return {
      databaseUrl,
      ground,
      cores: coreProcesses,
      facades: facadeProcesses,
      wallets: walletProcesses,
      simulator,
      simulatorUrl,
      startWallets,
      checkouts: checkoutProcesses,
      dashboards: dashboardProcesses,
      webhooks: webhookProcesses,
      webhookSettings,
      startWebhooks,
      webhookClient,
      webhookEndpointClient,
      addresses,
      connectUrl: `http://${String(coreProcesses[0]?.ready['connect'])}`,
      tokens,
      coreSettings,
      client,
      createMerchant: createMerchantWith(
        client(MerchantService, 'operator'),
        client(ApiKeyService, 'operator'),
        () => webhookClient('operator'),
      ),
      startCore,
      replaceCore: (own, address = addresses[0] ?? '') =>
        startCore({ GATEHOUSE_CORE_GRPC_PORT: new URL(`http://${address}`).port, ...own }),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A list of processes that are stopped together. */
function startedProcesses() {
  const started: GatehouseProcess[] = [];
  return {
    add: (process: GatehouseProcess): GatehouseProcess => {
      started.push(process);
      return process;
    },
    stop: (): Promise<unknown> => Promise.all(started.map((process) => process.stop())),
  };
}

/** The addresses of the `webhooks` processes. Without one, an address on which no process listens. */
const webhookAddressesOf = (processes: readonly GatehouseProcess[]): string =>
  processes.map(({ ready }) => String(ready['grpc'])).join(',') || '127.0.0.1:1';

const several = <T>(count: number, start: () => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, start));

/** For calls that prepare a test: their default deadline would judge the speed of the machine. */
const patient = { timeoutMs: hangMs };

function createMerchantWith(
  merchants: Client<typeof MerchantService>,
  apiKeys: Client<typeof ApiKeyService>,
  webhooks: () => Client<typeof WebhookService>,
) {
  return async ({
    productionActivated = true,
    signsWebhooks = false,
    mayRefund = false,
    merchantId = '',
  } = {}): Promise<TestMerchant> => {
    const { merchant } = await merchants.createMerchant(
      { name: 'Test Shop', productionActivated, merchantId },
      patient,
    );
    const id = merchant?.merchantId ?? '';
    const scopes = mayRefund ? [ApiKeyScope.REFUNDS] : [];
    const [test, live] = await Promise.all([
      apiKeys.issueApiKey({ merchantId: id, environment: Environment.SANDBOX, scopes }, patient),
      apiKeys.issueApiKey({ merchantId: id, environment: Environment.PRODUCTION }, patient),
    ]);
    if (signsWebhooks)
      for (const environment of [Environment.SANDBOX, Environment.PRODUCTION])
        await webhooks().rotateSigningSecret({ merchantId: id, environment }, patient);
    return { id, testKey: test.secret, liveKey: live.secret };
  };
}
