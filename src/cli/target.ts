import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Type } from '@sinclair/typebox';
import type { Static } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { CliSettings } from './settings.ts';
import { CliError, exitCodes } from './cli-error.ts';
import { howToStart } from './rpc-failure.ts';
import type { Server } from './rpc-failure.ts';
import { parseJson } from '../platform/parse-json.ts';

/** The cores of a command, and the token for them. */
export interface Target {
  readonly addresses: readonly string[];
  /** Undefined when no token for these cores is known. */
  readonly token: string | undefined;
  /** The processes that send webhooks; undefined when unknown. */
  readonly webhooks: Servers | undefined;
  /** The dashboard's URL; undefined when unknown. */
  readonly dashboard: string | undefined;
  /** The known listeners of the processes in front of the cores. */
  readonly listeners: readonly Listener[];
}

/** Processes of one kind, and the token for them. */
export interface Servers {
  readonly addresses: readonly string[];
  /** Undefined when no token for these processes is known. */
  readonly token: string | undefined;
  /** The demo merchant; undefined unless `npm start` runs these processes on this machine. */
  readonly demo?: DemoMerchant | undefined;
}

/** The merchant that `npm start` creates. */
export interface DemoMerchant {
  readonly merchantId: string;
  /** The file that contains its keys and secrets. */
  readonly path: string;
}

/** The HTTP listener of a process in front of the cores. */
export interface Listener {
  /** Its name in reports. */
  readonly name: string;
  readonly process: 'rest-facade' | 'checkout' | 'dashboard' | 'wallets';
  readonly url: string;
}

/** The part of `demo.json` that the command uses. `npm start` writes the file, whose type extends this one. */
export const DemoFile = Type.Object({
  grpc: Type.String(),
  rest: Type.Object({ production: Type.String(), sandbox: Type.String() }),
  checkout: Type.Optional(Type.String()),
  dashboard: Type.Optional(Type.String()),
  dashboard_base_url: Type.Optional(Type.String()),
  wallet_callbacks: Type.Optional(Type.String()),
  webhooks: Type.Optional(Type.Object({ grpc: Type.String() })),
  merchant: Type.Optional(
    Type.Object({ id: Type.String(), test_webhook_secret: Type.Optional(Type.String()) }),
  ),
  tokens: Type.Object({ operator: Type.String() }),
});

function listenersOf(demo: Static<typeof DemoFile>): readonly Listener[] {
  const { rest, checkout, dashboard, wallet_callbacks: wallets } = demo;
  return [
    { name: 'REST production', process: 'rest-facade', url: rest.production },
    { name: 'REST sandbox', process: 'rest-facade', url: rest.sandbox },
    ...(checkout === undefined ? [] : [{ name: 'checkout', process: 'checkout', url: checkout } as const]),
    ...(dashboard === undefined
      ? []
      : [{ name: 'dashboard', process: 'dashboard', url: dashboard } as const]),
    ...(wallets === undefined ? [] : [{ name: 'wallets', process: 'wallets', url: wallets } as const]),
  ];
}

const demoPathOf = ({ GATEHOUSE_DATA_DIR }: CliSettings): string => join(GATEHOUSE_DATA_DIR, 'demo.json');

/** The file that `npm start` wrote in the data folder; undefined when it never ran there. */
async function readDemoFile(path: string) {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw new CliError(
      exitCodes.invalidInput,
      `${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
      'Run the command as the user who started Gatehouse, or set GATEHOUSE_CORE_ADDRESSES and GATEHOUSE_SERVICE_TOKEN.',
    );
  }
  const content = parseJson(text);
  if (Value.Check(DemoFile, content)) return content;
  throw new CliError(
    exitCodes.invalidInput,
    `${path} does not have the form that npm start writes`,
    'Start Gatehouse again with npm start, or set GATEHOUSE_CORE_ADDRESSES and GATEHOUSE_SERVICE_TOKEN.',
  );
}

/** By shape, not by class: under some test runners the errors of node:fs are of another realm than this file's `Error`. */
const isMissing = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'code' in error && error.code === 'ENOENT';

/**
 * Finds the cores: those of the flag, otherwise of the settings, otherwise the core that `npm start` runs on this machine.
 * The token of that core is sent to that core only, because another core must not learn it.
 * @throws CliError when no core is known
 */
export async function findTarget(flag: readonly string[] | undefined, config: CliSettings): Promise<Target> {
  const demoPath = demoPathOf(config);
  const named = flag ?? config.GATEHOUSE_CORE_ADDRESSES;
  const { GATEHOUSE_SERVICE_TOKEN: token, GATEHOUSE_DASHBOARD_BASE_URL: dashboard } = config;
  if (named !== undefined && token !== undefined)
    return { addresses: named, token, webhooks: webhooksOf(config, undefined), dashboard, listeners: [] };
  const demo = await readDemoFile(demoPath);
  if (named !== undefined && named.join() !== demo?.grpc)
    return {
      addresses: named,
      token: undefined,
      webhooks: webhooksOf(config, undefined),
      dashboard,
      listeners: [],
    };
  if (demo !== undefined)
    return {
      addresses: [demo.grpc],
      token: token ?? demo.tokens.operator,
      webhooks: webhooksOf(config, demo),
      dashboard: dashboard ?? demo.dashboard_base_url ?? demo.dashboard,
      listeners: listenersOf(demo),
    };
  throw new CliError(
    exitCodes.invalidInput,
    `no core is known: there is no ${demoPath}, and neither --address nor GATEHOUSE_CORE_ADDRESSES is set`,
    [
      howToStart,
      'Or set GATEHOUSE_CORE_ADDRESSES=<host:port> and GATEHOUSE_SERVICE_TOKEN=<a token with the role operator>.',
    ].join('\n'),
  );
}

/** The processes of the settings, otherwise those that run beside the found core. */
function webhooksOf(config: CliSettings, demo: Static<typeof DemoFile> | undefined): Servers | undefined {
  const { GATEHOUSE_WEBHOOKS_ADDRESSES: named, GATEHOUSE_SERVICE_TOKEN: token } = config;
  const beside = demo?.webhooks;
  if (named !== undefined && named.join() !== beside?.grpc) return { addresses: named, token };
  return (
    beside && {
      addresses: [beside.grpc],
      token: token ?? demo.tokens.operator,
      demo: demo.merchant && { merchantId: demo.merchant.id, path: demoPathOf(config) },
    }
  );
}

/**
 * Finds the processes that send webhooks. Those of the settings need no core. Without a setting, those beside the found core are used.
 * @throws CliError when none is known
 */
export async function findWebhooks(
  flag: readonly string[] | undefined,
  config: CliSettings,
): Promise<Servers> {
  const { GATEHOUSE_WEBHOOKS_ADDRESSES: named, GATEHOUSE_SERVICE_TOKEN: token } = config;
  if (named !== undefined && token !== undefined) return { addresses: named, token };
  const isCoreNamed = (flag ?? config.GATEHOUSE_CORE_ADDRESSES) !== undefined;
  const found = isCoreNamed
    ? (await findTarget(flag, config)).webhooks
    : webhooksOf(config, await readDemoFile(demoPathOf(config)));
  if (found !== undefined) return found;
  throw new CliError(
    exitCodes.invalidInput,
    `no webhooks process is known: GATEHOUSE_WEBHOOKS_ADDRESSES is not set, and ${demoPathOf(config)} does not name one${isCoreNamed ? ' beside that core' : ''}`,
    [
      howToStart,
      'Or set GATEHOUSE_WEBHOOKS_ADDRESSES=<host:port> and GATEHOUSE_SERVICE_TOKEN=<a token with the role operator>.',
    ].join('\n'),
  );
}

/**
 * Finds the cores of the gateway whose webhooks processes `findWebhooks` found. Undefined if they are not known: the core in
 * `demo.json` may belong to another gateway than the processes in the settings.
 */
export async function findCoreBeside(
  flag: readonly string[] | undefined,
  config: CliSettings,
): Promise<Target | undefined> {
  const isCoreNamed = (flag ?? config.GATEHOUSE_CORE_ADDRESSES) !== undefined;
  if (config.GATEHOUSE_WEBHOOKS_ADDRESSES !== undefined && !isCoreNamed) return undefined;
  return findTarget(flag, config);
}

/** The sandbox that `npm start` runs on this machine, with its demo merchant. */
export interface DemoSandbox {
  /** The address of the merchant API. */
  readonly gateway: string;
  /** The demo merchant's signing secret; undefined without a demo merchant. */
  readonly webhookSecret: string | undefined;
}

/** The sandbox that `npm start` runs on this machine; undefined when it never ran. @throws CliError for an unreadable file */
export async function findDemoSandbox(config: CliSettings): Promise<DemoSandbox | undefined> {
  const demo = await readDemoFile(demoPathOf(config));
  return demo && { gateway: demo.rest.sandbox, webhookSecret: demo.merchant?.test_webhook_secret };
}

/** The token of servers, by default of cores. @throws CliError when there is none */
export function tokenOf(
  { token, addresses }: Pick<Servers, 'token' | 'addresses'>,
  server: Server = 'core',
): string {
  if (token !== undefined) return token;
  throw new CliError(
    exitCodes.invalidInput,
    `no service token is known for ${addresses.join(', ')}`,
    `Set GATEHOUSE_SERVICE_TOKEN to an operator token of that ${server}: one of those in the ${server}'s GATEHOUSE_SERVICE_TOKENS.`,
  );
}

/** The scheme and host of the dashboard. @throws CliError when they are unknown */
export function dashboardOf({ dashboard }: Pick<Target, 'dashboard'>): string {
  if (dashboard !== undefined) return dashboard;
  throw new CliError(
    exitCodes.invalidInput,
    'the link would be incomplete, because the address of the dashboard is unknown',
    "No link was created. Set GATEHOUSE_DASHBOARD_BASE_URL to the dashboard's URL, such as https://dashboard.pay.example.",
  );
}
