import { createRouterTransport } from '@connectrpc/connect';
import type { ConnectRouter } from '@connectrpc/connect';
import { coreClientsOn } from '../../src/cli/core-clients.ts';
import { runCli } from '../../src/cli/program.ts';
import type { CliParts } from '../../src/cli/program.ts';
import { readCliSettings } from '../../src/cli/settings.ts';
import { webhookClientsOn } from '../../src/cli/webhooks/webhook-clients.ts';
import { createRehearsal } from '../../src/core/rehearsal/create-rehearsal.ts';
import { backupTools } from '../../src/main/backup-tools.ts';
import { proveTools } from '../../src/main/prove/prove-tools.ts';
import { walletTools } from '../../src/main/wallet-tools.ts';
import type { ProcessEnvironment } from '../../src/platform/settings/read-settings.ts';

const unexpected = (server: string) => (): never => {
  throw new Error(`a ${server} was called`);
};

/** Runs a command of the command line within the test's process. It has no servers, unless `own` gives it some. */
export async function runCommand(
  args: readonly string[],
  settings: ProcessEnvironment,
  own: Partial<CliParts> = {},
) {
  const printed = { stdout: '', stderr: '' };
  const exitCode = await runCli(args, {
    readConfig: () => readCliSettings(settings),
    openCore: unexpected('core'),
    openWebhooks: unexpected('webhooks process'),
    ...{ walletTools: walletTools(settings), backupTools, proveTools: proveTools({}, '/nowhere') },
    beginRehearsal: () => Promise.resolve(createRehearsal()),
    readInput: () => Promise.resolve('{}'),
    stdout: (text) => void (printed.stdout += text),
    stderr: (text) => void (printed.stderr += text),
    now: () => new Date(0),
    interruption: () => new AbortController().signal,
    nodeVersion: process.version,
    ...own,
  });
  return { exitCode, ...printed };
}

/** Servers with these services, for a command. */
export function serversWith(services: (router: ConnectRouter) => void) {
  const transport = createRouterTransport(services);
  return {
    openCore: () => coreClientsOn(transport, () => undefined),
    openWebhooks: () => webhookClientsOn(transport, () => undefined),
  };
}
