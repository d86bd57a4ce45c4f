import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Type } from '@sinclair/typebox';
import type { Static } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { CliConfig } from '../runtime/config.ts';
import { CliError, exitCodes } from './cli-error.ts';

/** The cores a command is for, and how to be let in. */
export interface Target {
  readonly addresses: readonly string[];
  /** Undefined when the cores are known and a token for them is not. */
  readonly token: string | undefined;
  /** The processes that send webhooks; undefined when they are not known. */
  readonly webhooks: Servers | undefined;
  /** The listeners of the processes in front of the cores, as far as they are known. */
  readonly listeners: readonly Listener[];
}

/** Processes of one kind, and how to be let in. */
export interface Servers {
  readonly addresses: readonly string[];
  /** Undefined when they are known and a token for them is not. */
  readonly token: string | undefined;
}

/** Where a process in front of the cores answers HTTP. */
export interface Listener {
  /** As a report calls it. */
  readonly name: string;
  readonly process: 'rest-facade' | 'checkout' | 'wallets';
  readonly url: string;
}

/** The part of `demo.json`, which `npm start` writes, that is of use here. */
const DemoFile = Type.Object({
  grpc: Type.String(),
  rest: Type.Object({ production: Type.String(), sandbox: Type.String() }),
  checkout: Type.Optional(Type.String()),
  wallets: Type.Optional(Type.String()),
  webhooks: Type.Optional(Type.Object({ grpc: Type.String() })),
  tokens: Type.Object({ operator: Type.String() }),
});

function listenersOf({ rest, checkout, wallets }: Static<typeof DemoFile>): readonly Listener[] {
  return [
    { name: 'REST production', process: 'rest-facade', url: rest.production },
    { name: 'REST sandbox', process: 'rest-facade', url: rest.sandbox },
    ...(checkout === undefined ? [] : [{ name: 'checkout', process: 'checkout', url: checkout } as const]),
    ...(wallets === undefined ? [] : [{ name: 'wallets', process: 'wallets', url: wallets } as const]),
  ];
}

/** What `npm start` wrote in the data folder; undefined when it never ran there. */
async function readDemoFile(path: string) {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw new CliError(
      exitCodes.invalidInput,
      `${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
      'Run as the user who started Gatehouse, or set GATEHOUSE_CORE_ADDRESSES and GATEHOUSE_SERVICE_TOKEN.',
    );
  }
  const content = parseJson(text);
  if (Value.Check(DemoFile, content)) return content;
  throw new CliError(
    exitCodes.invalidInput,
    `${path} is not as npm start writes it`,
    'Start Gatehouse again with npm start, or set GATEHOUSE_CORE_ADDRESSES and GATEHOUSE_SERVICE_TOKEN.',
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Finds the cores: those of the flag, else of the settings, else the one that `npm start` runs on this machine. Its
 * token is used for it alone: a core named by somebody is not shown secrets of another.
 * @throws CliError when no core is known
 */
export async function findTarget(flag: readonly string[] | undefined, config: CliConfig): Promise<Target> {
  const demoPath = join(config.GATEHOUSE_DATA_DIR, 'demo.json');
  const named = flag ?? config.GATEHOUSE_CORE_ADDRESSES;
  const token = config.GATEHOUSE_SERVICE_TOKEN;
  if (named !== undefined && token !== undefined)
    return { addresses: named, token, webhooks: webhooksOf(config, undefined), listeners: [] };
  const demo = await readDemoFile(demoPath);
  if (named !== undefined && named.join() !== demo?.grpc)
    return { addresses: named, token: undefined, webhooks: webhooksOf(config, undefined), listeners: [] };
  if (demo !== undefined)
    return {
      addresses: [demo.grpc],
      token: token ?? demo.tokens.operator,
      webhooks: webhooksOf(config, demo),
      listeners: listenersOf(demo),
    };
  throw new CliError(
    exitCodes.invalidInput,
    `no core is known: there is no ${demoPath}, and neither --address nor GATEHOUSE_CORE_ADDRESSES is set`,
    [
      'Start Gatehouse on this machine with: npm start',
      'Or set GATEHOUSE_CORE_ADDRESSES=<host:port> and GATEHOUSE_SERVICE_TOKEN=<a token with the role operator>.',
    ].join('\n'),
  );
}

/** Those of the settings, else those that run beside the core that was found. */
function webhooksOf(config: CliConfig, demo: Static<typeof DemoFile> | undefined): Servers | undefined {
  const { GATEHOUSE_WEBHOOKS_ADDRESSES: named, GATEHOUSE_SERVICE_TOKEN: token } = config;
  const beside = demo?.webhooks;
  if (named !== undefined && named.join() !== beside?.grpc) return { addresses: named, token };
  return beside && { addresses: [beside.grpc], token: token ?? demo.tokens.operator };
}

/** The token of a target. @throws CliError when there is none */
export function tokenOf({ token, addresses }: Target): string {
  if (token !== undefined) return token;
  throw new CliError(
    exitCodes.invalidInput,
    `no service token is known for ${addresses.join(', ')}`,
    "Set GATEHOUSE_SERVICE_TOKEN to an operator token of that core: one of those in the core's GATEHOUSE_SERVICE_TOKENS.",
  );
}
