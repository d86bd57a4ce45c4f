import type { Command } from 'commander';
import { counted } from '../../contract/counted.ts';
import type { CoreClients } from '../core-clients.ts';
import { checkRecordedChanges } from './doctor-recorded-changes.ts';
import { checkWebhooks } from './doctor-webhooks.ts';
import { checkCore, checkEncryption, checkNode, checkReadyz, settingsFailed } from './doctor-checks.ts';
import type { Finding, Result } from './doctor-finding.ts';
import { CliError, exitCodes } from '../cli-error.ts';
import { readHttpUrls } from '../options.ts';
import type { Output } from '../output.ts';
import { adviceLines, table } from '../table.ts';
import type { Listener, Target } from '../target.ts';
import type { WebhookClients } from '../webhooks/webhook-clients.ts';

export interface DoctorParts {
  readonly nodeVersion: string;
  readonly now: () => Date;
  readonly findTarget: () => Promise<Target>;
  /** Whether the calls of this command use TLS. */
  readonly hasTls: () => boolean;
  readonly openCore: (addresses: readonly string[], token: string) => CoreClients;
  readonly openWebhooks: (addresses: readonly string[], token: string) => WebhookClients;
}

const marks: Readonly<Record<Result, string>> = { ok: 'ok', warning: 'warn', failed: 'FAIL' };

/** `doctor` */
export function addDoctorCommand(
  program: Command,
  parts: DoctorParts,
  finish: (output: Output, exitCode: number) => void,
): void {
  program
    .command('doctor')
    .description('check the cores, their dependencies and the other processes, and recommend what to do')
    .option('--rest <url,…>', 'also check the merchant API at these URLs', readHttpUrls)
    .action(async ({ rest = [] }: { rest?: readonly string[] }) => {
      const findings = await diagnose(parts, rest);
      const failed = findings.some(({ result }) => result === 'failed');
      finish(describeFindings(findings), failed ? exitCodes.unexpected : exitCodes.ok);
    });
}

async function diagnose(parts: DoctorParts, restUrls: readonly string[]): Promise<readonly Finding[]> {
  const { target, problem } = await lookForTarget(parts);
  const named = restUrls.map((url): Listener => ({ name: 'REST', process: 'rest-facade', url }));
  const cores = (target?.addresses ?? []).map((address) => checkOneCore(parts, address, target?.token));
  const { addresses = [], token } = target?.webhooks ?? {};
  const webhooks = addresses.map((address) =>
    checkOneWebhooks(parts, address, token, (target?.token ?? '') === '' ? undefined : target),
  );
  const listeners = [...(target?.listeners ?? []), ...named].map(async (listener) => [
    await checkReadyz(listener),
  ]);
  const findings = await Promise.all([...cores, ...webhooks, ...listeners]);
  return [checkNode(parts.nodeVersion), ...problem, ...findings.flat()];
}

/** Missing or invalid addresses of the cores are a finding too. */
async function lookForTarget(
  parts: DoctorParts,
): Promise<{ readonly target?: Target; readonly problem: readonly Finding[] }> {
  try {
    return { target: await parts.findTarget(), problem: [] };
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return { problem: [settingsFailed(error.message, error.advice)] };
  }
}

async function checkOneCore(
  { openCore, now, hasTls }: DoctorParts,
  address: string,
  token: string | undefined,
): Promise<readonly Finding[]> {
  // Core's health service needs no token. With an empty token, core refuses all other calls.
  const core = openCore([address], token ?? '');
  try {
    const encryption = checkEncryption(`core ${address}`, address, hasTls());
    return [...(await checkCore({ address, core, now })), ...encryption];
  } finally {
    core.close();
  }
}

async function checkOneWebhooks(
  { openCore, openWebhooks, now, hasTls }: DoctorParts,
  address: string,
  token: string | undefined,
  cores: Target | undefined,
): Promise<readonly Finding[]> {
  const clients = openWebhooks([address], token ?? '');
  const core = cores && openCore(cores.addresses, cores.token ?? '');
  try {
    const encryption = checkEncryption(`webhooks ${address}`, address, hasTls());
    const found = await checkWebhooks({ address, clients, now });
    const isAnswering = found.some(({ check, result }) => check === 'reconciler' && result !== 'failed');
    const changes =
      core !== undefined && isAnswering
        ? [
            await checkRecordedChanges({
              core,
              cores: cores?.addresses ?? [],
              webhooks: clients,
              address,
              now,
            }),
          ]
        : [];
    return [...found, ...changes, ...encryption];
  } finally {
    clients.close();
    core?.close();
  }
}

function describeFindings(findings: readonly Finding[]): Output {
  const subjects = [...new Set(findings.map(({ subject }) => subject))];
  const count = (wanted: Result): number => findings.filter(({ result }) => result === wanted).length;
  const sectionOf = (subject: string, width: number): string => {
    const rows = findings
      .filter((finding) => finding.subject === subject)
      .map(({ result, check, detail, advice }) => [
        `  ${marks[result]}`,
        check,
        advice === '' ? detail : `${detail}\n${adviceLines(advice)}`,
      ]);
    return `${subject}\n${table([{ head: '' }, { head: '' }, { head: '', wraps: true }], rows, width)}`;
  };
  const worst = (['failed', 'warning', 'ok'] as const).find((result) => count(result) > 0) ?? 'ok';
  const summary = {
    ok: 'Everything is in order.',
    warning: `${counted(count('warning'), 'warning')}, no failure. Lines that begin with > are advice.`,
    failed: `${counted(count('failed'), 'failure')}, ${counted(count('warning'), 'warning')}. Lines that begin with > are advice.`,
  };
  return {
    json: { result: worst, checks: findings.map((finding) => ({ ...finding })) },
    text: (width) => [...subjects.map((subject) => sectionOf(subject, width)), summary[worst]].join('\n\n'),
  };
}
