import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import { certificationOutput } from './certify/certification.ts';
import type { Certification } from './certify/certification.ts';
import { certifyIntegration } from './certify/certify-integration.ts';
import { certifyReceiver } from './certify/certify-receiver.ts';
import type { CheckReport } from './certify/check.ts';
import { recordCertification } from './certify/record-certification.ts';
import { howToGiveSecrets, readSecrets } from './certify/read-secrets.ts';
import { CliError, exitCodes } from './cli-error.ts';
import { readUrl } from './options.ts';
import type { Output, Runner } from './output.ts';
import type { CliSettings } from './settings.ts';
import { printable } from './table.ts';
import { findDemoSandbox } from './target.ts';

export interface CertifyParts {
  readonly readConfig: () => CliSettings;
  /** Reads a file as text. @throws CliError */
  readonly readInput: (file: string) => Promise<string>;
  /** Receives a line about the progress. */
  readonly report: (line: string) => void;
  /** Whether the output is for scripts, so that no progress is shown. */
  readonly isJson: boolean;
  readonly now: () => Date;
  readonly interruption: () => AbortSignal;
  /** Prints the output of a run that calls no core. */
  readonly finish: (output: Output) => void;
  /** Runs with a core. */
  readonly run: Runner;
  /** The cores of `run`, for the description of a failure. */
  readonly calledAddresses: () => readonly string[];
}

interface CertifyOptions {
  readonly webhookUrl: URL;
  readonly secretFile?: string;
  readonly proxyPort?: number;
  readonly gateway?: URL;
  readonly orderUrl?: URL;
  readonly stateUrl?: URL;
  readonly record?: string;
}

const recordPauseMs = 3_000;

const help = `
Without --proxy-port, only the webhook receiver is certified, by its answers.
With it, start your shop with http://127.0.0.1:<port> as the address of the gateway.
docs/certification.md describes the checks, and the two URLs that your shop offers.
`;

/** `certify` */
export function addCertifyCommand(program: Command, parts: CertifyParts): void {
  program
    .command('certify')
    .description(
      'test your own sandbox receiver and integration with faults, score them, and say how to fix each failure',
    )
    .requiredOption('--webhook-url <url>', 'your receiver, such as http://localhost:3000/hook', readUrl)
    .option(
      '--secret-file <file>',
      'its sandbox signing secret; default: GATEHOUSE_WEBHOOK_SECRET, or that of npm start',
    )
    .option(
      '--proxy-port <port>',
      'certify your integration too, through a proxy of the gateway at this port',
      readPort,
    )
    .option(
      '--gateway <url>',
      'the sandbox to which that port forwards; default: the one of npm start',
      readUrl,
    )
    .option(
      '--order-url <url>',
      'a URL of your shop that places an order for each POST; without it, you place the orders',
      readUrl,
    )
    .option(
      '--state-url <url>',
      'a URL of your shop that answers a GET with the number of times that your shop fulfilled an order',
      readUrl,
    )
    .option('--record <merchant_id>', 'record the results in core; activate-production may require them')
    .addHelpText('after', help)
    .action(async (options: CertifyOptions) => {
      const { record: merchantId } = options;
      const stop = parts.interruption();
      if (merchantId === undefined) {
        parts.finish(certificationOutput(await certify(options, parts, stop)));
        return;
      }
      await parts.run(async ({ merchants }) => {
        // An unknown merchant or an unavailable core is found before the run, which takes minutes.
        await merchants.getMerchant({ merchantId });
        const certification = await certify(options, parts, stop);
        return certificationOutput(
          certification,
          stop.aborted
            ? {
                note: 'The run was interrupted, so nothing was recorded.',
                json: { merchant_id: merchantId, recorded: false },
              }
            : await recordCertification(merchants, merchantId, certification, {
                addresses: parts.calledAddresses(),
                pauseMs: recordPauseMs,
                stop,
              }),
        );
      });
    });
}

function readPort(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new InvalidArgumentError('Use a port from 1 to 65535, or 0 for any free one.');
}

async function certify(
  options: CertifyOptions,
  parts: CertifyParts,
  stop: AbortSignal,
): Promise<Certification> {
  const { webhookUrl, proxyPort } = options;
  const { report, now } = parts;
  checkOptions(options, parts);
  const { secrets, gateway } = await readSandbox(options, parts);
  const onCheck = ({ name, result }: CheckReport): void => {
    if (!stop.aborted) report(`  ${{ passed: 'ok  ', failed: 'FAIL', not_tested: '-   ' }[result]}  ${name}`);
  };
  report(printable(`Sending webhooks to ${webhookUrl.href}`));
  const received = await certifyReceiver({ url: webhookUrl, secrets, now, stop, onCheck: () => undefined });
  const integrated =
    proxyPort === undefined || gateway === undefined
      ? []
      : await certifyIntegration({
          ...options,
          orderUrl: options.orderUrl,
          stateUrl: options.stateUrl,
          gateway,
          proxyPort,
          secret: secrets[0],
          now,
          stop,
          onCheck,
          ask: report,
          onProxy: (origin) =>
            report(`Your shop calls ${origin}, which forwards to ${printable(gateway.href)}`),
        }).catch((error: unknown): never => {
          throw portError(error, proxyPort);
        });
  return {
    at: now(),
    webhookUrl: webhookUrl.href,
    parts: proxyPort === undefined ? ['receiver'] : ['receiver', 'integration'],
    checks: [...received, ...integrated],
  };
}

/** @throws CliError for options that do not fit together */
function checkOptions(
  { proxyPort, gateway, orderUrl, stateUrl }: CertifyOptions,
  { isJson }: CertifyParts,
): void {
  if (proxyPort === undefined && (gateway ?? orderUrl ?? stateUrl) !== undefined)
    throw new CliError(
      exitCodes.invalidInput,
      '--gateway, --order-url and --state-url need --proxy-port',
      'Add --proxy-port 4010, and start your shop with http://127.0.0.1:4010 as the address of the gateway.',
    );
  if (proxyPort !== undefined && orderUrl === undefined && isJson)
    throw new CliError(
      exitCodes.invalidInput,
      '--json cannot ask a person to place orders',
      'Add --order-url with a URL of your shop that places an order.',
    );
}

/** The signing secrets, and the address of the sandbox if the integration is certified. @throws CliError when one is missing */
async function readSandbox(options: CertifyOptions, parts: CertifyParts) {
  const config = parts.readConfig();
  const isSecretNamed = (options.secretFile ?? config.GATEHOUSE_WEBHOOK_SECRET) !== undefined;
  const isGatewayNamed = options.proxyPort === undefined || options.gateway !== undefined;
  // An unreadable file must not prevent a run that needs nothing of it.
  const demo = isSecretNamed && isGatewayNamed ? undefined : await findDemoSandbox(config);
  const secrets = readSecrets(await secretsText(options, parts, config, demo?.webhookSecret));
  const gateway = options.gateway ?? (demo && new URL(demo.gateway));
  if (options.proxyPort !== undefined && gateway === undefined)
    throw new CliError(
      exitCodes.invalidInput,
      'the address of the sandbox is unknown',
      'Add --gateway with the sandbox address of the merchant API, or start one on this machine with: npm start',
    );
  return { secrets, gateway };
}

async function secretsText(
  { secretFile }: CertifyOptions,
  { readInput }: CertifyParts,
  { GATEHOUSE_WEBHOOK_SECRET: set }: CliSettings,
  ofDemo: string | undefined,
) {
  if (secretFile !== undefined) return { source: secretFile, text: await readInput(secretFile) };
  if (set !== undefined) return { source: 'GATEHOUSE_WEBHOOK_SECRET', text: set };
  if (ofDemo !== undefined) return { source: 'demo.json', text: ofDemo };
  throw new CliError(exitCodes.invalidInput, 'the signing secret is missing', howToGiveSecrets);
}

/** By shape, not by class: under some test runners the errors of node:net are of another realm. */
function portError(error: unknown, port: number): unknown {
  const { code } = error as { readonly code?: string };
  if (code !== 'EADDRINUSE' && code !== 'EACCES') return error;
  return new CliError(
    exitCodes.invalidInput,
    `port ${port} cannot be used (${code})`,
    'Choose another one with --proxy-port, and start your shop with that address.',
  );
}
