import type { Static } from '@sinclair/typebox';
import type { DemoFile as ReadByCommands } from '../../cli/target.ts';
import { readWallets } from '../../contract/wallets-file/read-wallets-file.ts';
import type { ProcessEnvironment } from '../../platform/settings/read-settings.ts';
import type { walletAccess } from './demo-wallets.ts';
import type { DemoMerchant } from './demo-merchant.ts';
import type { DemoUsers } from './demo-users.ts';
import type { WebhookSecrets } from './demo-webhook-secrets.ts';

/** The content of `demo.json`, which a script needs to use the running Gatehouse. */
export interface DemoFile extends Static<typeof ReadByCommands> {
  readonly rest: { readonly production: string; readonly sandbox: string };
  readonly checkout: string;
  readonly dashboard: string;
  /** The URLs under which users reach the pages: the two above, unless settings name others. */
  readonly checkout_base_url: string;
  readonly dashboard_base_url: string;
  readonly simulator: string;
  /** The address of the wallets process, for callbacks. */
  readonly wallet_callbacks: string;
  /** By wallet, what a client of the simulated wallet needs. */
  readonly wallets: ReturnType<typeof walletAccess>;
  readonly grpc: string;
  readonly connect: string;
  /** The addresses of the webhooks process. */
  readonly webhooks: { readonly grpc: string; readonly connect: string };
  /** The URL of each process's metrics, if its port is open. */
  readonly metrics: Readonly<Record<string, string>>;
  /** Absent if the database was restored without one, and may lack merchants. */
  readonly merchant?: DemoMerchant & WebhookSecrets;
  /** The users that can sign in to the dashboard. */
  readonly users?: DemoUsers;
  readonly tokens: { readonly operator: string; readonly writer: string; readonly reader: string };
}

const loginOf = (login: DemoUsers['owner'] | undefined): string =>
  login === undefined ? 'none' : `${login.email} / ${login.password}`;

interface Running {
  readonly demo: DemoFile;
  readonly dataFolder: string;
  /** The folder of the command `gatehouse`. */
  readonly commandFolder: string;
  readonly seconds: number;
  /** The currency of the example (`exampleCurrency`). */
  readonly currency: string;
  /** Makes the example's order number unique. */
  readonly now: Date;
  /** Whether the database was restored, and payments wait until it has been compared with the wallets. */
  readonly isRecovering: boolean;
}

/** The final output of a successful start: all addresses, and the next commands to try. */
export function describeRunning(running: Running): string {
  const { demo, dataFolder } = running;
  const { merchant, users } = demo;
  return `
Gatehouse is running (ready in ${running.seconds.toFixed(1)} s)

  Sandbox API      ${demo.rest.sandbox}   test key  ${merchant?.test_key ?? 'none'}
  Production API   ${demo.rest.production}   live key  ${merchant?.live_key ?? 'none'}
  API reference    ${demo.rest.sandbox}/docs
  Checkout pages   ${demo.checkout_base_url}
  Dashboard        ${demo.dashboard_base_url}   ${loginOf(users?.owner)}
                   as an operator: ${loginOf(users?.operator)}
  Wallet simulator ${demo.simulator}   shows prompts and charges
  gRPC             ${demo.grpc}
  Connect          ${demo.connect}
  Webhooks         ${demo.webhooks.connect}   test secret  ${merchant?.test_webhook_secret ?? 'none'}
  Keys and tokens  ${dataFolder}/demo.json
  Logs             ${dataFolder}/logs

${running.isRecovering || merchant === undefined ? describeRecovery(running) : describeFirstOrder(running)}

Ctrl-C stops everything and keeps the data.
`;
}

/** The line that adds the command to a terminal, and the command with its arguments. */
function commandLines({ dataFolder, commandFolder }: Running, command: string): string {
  // The command line finds the usual folder by itself.
  const folder = dataFolder.endsWith('/.gatehouse') ? '' : `GATEHOUSE_DATA_DIR=${dataFolder} `;
  return `  export PATH="${commandFolder}:$PATH"
  ${folder}gatehouse ${command}`;
}

function describeFirstOrder(running: Running): string {
  const { demo, now } = running;
  const orderNumber = `demo-${now
    .toISOString()
    .replace(/[^0-9]/g, '')
    .slice(0, 14)}`;
  const order = {
    order_number: orderNumber,
    amount: '150.00',
    currency: running.currency,
    reason: 'Coffee beans',
    customer_phone: '+251911223344',
    return_url: 'https://shop.example/thanks',
  };
  const post = (path: string, body: object) =>
    [
      `  curl -s ${demo.rest.sandbox}${path} \\`,
      `    -H 'apiKey: ${demo.merchant?.test_key ?? ''}' \\`,
      `    -H 'Content-Type: application/json' \\`,
      `    -d '${JSON.stringify(body)}'`,
    ].join('\n');
  return `Register a first order, then verify its status:

${post('/api/v1/register', order)}

${post('/api/v1/verify', { order_number: orderNumber })}

To print the sandbox's webhooks and forward them to your own server, run these lines in another terminal.
The first line adds the command "gatehouse" to that terminal. "npm link" adds it to every terminal:

${commandLines(running, 'listen --forward http://localhost:3000/hook')}`;
}

/**
 * A currency that a wallet of the sandbox takes: ETB if one does. The simulated wallets take ETB.
 * @throws SettingsError for a file of wallets with a mistake
 */
export function exampleCurrency(environment: ProcessEnvironment): string {
  const file = environment['GATEHOUSE_WALLETS_FILE'] || undefined;
  const json = environment['GATEHOUSE_WALLETS'] || undefined;
  const own = file === undefined && json === undefined ? [] : readWallets({ file, json });
  const codes = own
    .filter(({ environments }) => environments.sandbox !== undefined)
    .flatMap(({ currencies }) => currencies.map(({ code }) => code));
  return codes.includes('ETB') ? 'ETB' : (codes[0] ?? 'ETB');
}

function describeRecovery(running: Running): string {
  const noMerchant = `The database was restored, and may lack merchants. So there is no demo merchant, and no demo users.
Answer the questions of the recovery, and start Gatehouse again.`;
  return `${running.demo.merchant === undefined ? noMerchant : 'The database was restored, so new payments wait until it has been compared with the wallets.'}
These lines show in another terminal what is done and what it waits for:

${commandLines(running, 'restore status')}`;
}
