import type { JsonObject } from '@bufbuild/protobuf';
import { ConnectError } from '@connectrpc/connect';
import type { Command } from 'commander';
import { reasonOf } from '../platform/rpc/rpc-error.ts';
import { CliError, exitCodes } from './cli-error.ts';
import type { CoreClients } from './core-clients.ts';
import { findOnlyMerchant, unknownMerchant } from './merchant-argument.ts';
import type { FindMerchant } from './merchant-argument.ts';
import { jsonLine } from './output.ts';
import type { Output, Runner } from './output.ts';
import { requireKnown } from './require-known.ts';
import type { Server } from './rpc-failure.ts';
import type { CliSettings } from './settings.ts';
import { defaultWidth } from './table.ts';
import { findCoreBeside, findTarget, findWebhooks, tokenOf } from './target.ts';
import type { Servers, Target } from './target.ts';
import type { WebhookClients } from './webhooks/webhook-clients.ts';

export interface GlobalOptions {
  readonly address?: readonly string[];
  readonly json?: true;
  readonly verbose?: true;
}

export interface CommandRunParts {
  /** @throws SettingsError */
  readonly readConfig: () => CliSettings;
  readonly openCore: (addresses: readonly string[], token: string) => CoreClients;
  readonly openWebhooks: (addresses: readonly string[], token: string) => WebhookClients;
  /** Reads a file as text, or the standard input for `-`. */
  readonly readInput: (file: string) => Promise<string>;
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
  /** The columns of the terminal; undefined when the output does not go to a terminal. */
  readonly width?: number | undefined;
}

/** One run of a command: the servers that it calls, its output, and its exit code. */
export interface CommandRun {
  /** Runs a command with clients of core, and prints its output. */
  readonly onCore: Runner;
  /** Runs a command with clients of the webhooks process, and prints its output. */
  readonly onWebhooks: Runner<WebhookClients>;
  readonly findTarget: () => Promise<Target>;
  readonly findWebhookServers: () => Promise<Servers>;
  /** Clients of the webhooks process that runs beside core; undefined without one. */
  readonly openWebhooksBeside: () => Promise<WebhookClients | undefined>;
  readonly findMerchant: FindMerchant;
  /** Asks the core beside the webhooks processes. @throws ConnectError MERCHANT_NOT_FOUND, if a core is known and says so */
  readonly refuseUnknownMerchant: (merchantId: string) => Promise<void>;
  readonly readInput: (file: string) => Promise<string>;
  readonly print: (output: Output) => void;
  /** Prints the output, and ends with its exit code. */
  readonly finish: (output: Output, exitCode?: number) => void;
  /** Prints a line about the progress, unless the output is JSON. */
  readonly report: (line: string) => void;
  /** Prints a fact to stderr, as a line of text, or of JSON if the output is JSON. */
  readonly note: (text: string, json: JsonObject) => void;
  readonly exitCode: () => number;
  /** The server that the command called last, for the description of a failure. */
  readonly calledServer: () => { readonly server: Server; readonly addresses: readonly string[] };
}

export function createCommandRun(program: Command, isJson: boolean, parts: CommandRunParts): CommandRun {
  const { stdout, stderr } = parts;
  let exitCode: number = exitCodes.ok;
  let server: Server = 'core';
  let addresses: readonly string[] = [];

  const target = async (): Promise<Target> => {
    const found = await findTarget(program.opts<GlobalOptions>().address, parts.readConfig());
    addresses = found.addresses;
    return found;
  };
  const findWebhookServers = async (): Promise<Servers> => {
    server = 'webhooks process';
    const found = await findWebhooks(program.opts<GlobalOptions>().address, parts.readConfig());
    addresses = found.addresses;
    return found;
  };
  const openCore = async (): Promise<CoreClients> => {
    const found = await target();
    return parts.openCore(found.addresses, tokenOf(found));
  };
  const print = ({ json, text }: Output): void => {
    if (program.opts<GlobalOptions>().json) stdout(jsonLine(json));
    else stdout(`${typeof text === 'string' ? text : text(parts.width ?? defaultWidth)}\n`);
  };
  const finish: CommandRun['finish'] = (output, code = output.exitCode ?? exitCodes.ok) => {
    print(output);
    exitCode = code;
  };
  const runner =
    <Clients extends { readonly close: () => void }>(open: () => Promise<Clients>): Runner<Clients> =>
    async (use) => {
      const clients = await open();
      try {
        finish(await use(clients));
      } finally {
        clients.close();
      }
    };

  return {
    onCore: runner(openCore),
    onWebhooks: runner(async () => {
      const found = await findWebhookServers();
      return parts.openWebhooks(found.addresses, tokenOf(found, server));
    }),
    findTarget: target,
    findWebhookServers,
    async openWebhooksBeside() {
      const { webhooks } = await target();
      if (webhooks?.token === undefined) return undefined;
      return parts.openWebhooks(webhooks.addresses, webhooks.token);
    },
    async findMerchant(named, howToName) {
      if (named !== undefined) return named;
      const before = { server, addresses };
      server = 'core';
      const found = await target().catch((error: unknown): never => {
        throw error instanceof CliError ? unknownMerchant(howToName, error) : error;
      });
      const core = parts.openCore(found.addresses, tokenOf(found));
      try {
        const merchantId = await findOnlyMerchant(core.merchants, howToName);
        ({ server, addresses } = before);
        return merchantId;
      } finally {
        core.close();
      }
    },
    async refuseUnknownMerchant(merchantId) {
      const found = await findCoreBeside(program.opts<GlobalOptions>().address, parts.readConfig());
      if (found?.token === undefined) return;
      const core = parts.openCore(found.addresses, found.token);
      try {
        await requireKnown(core, { merchantId });
      } catch (error) {
        // The webhooks process has answered. Another failure of core does not make its answer wrong.
        if (error instanceof ConnectError && reasonOf(error) === 'MERCHANT_NOT_FOUND') throw error;
      } finally {
        core.close();
      }
    },
    async readInput(file) {
      try {
        return await parts.readInput(file);
      } catch (error) {
        const why = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
        throw new CliError(
          exitCodes.invalidInput,
          `${file} cannot be read (${why})`,
          'Name a readable file.',
        );
      }
    },
    print,
    finish,
    report: (line) => (isJson ? undefined : stderr(`${line}\n`)),
    note: (text, json) => stderr(isJson ? jsonLine(json) : `${text}\n`),
    exitCode: () => exitCode,
    calledServer: () => ({ server, addresses }),
  };
}
