import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { faultName } from '../../cli/prove/faults.ts';
import type { Fault } from '../../cli/prove/faults.ts';
import type { FaultResult, InvariantResult, ProveReport } from '../../cli/prove/report.ts';
import type { ProveOptions } from '../../cli/prove-command.ts';
import type { ProcessEnvironment } from '../../platform/settings/read-settings.ts';
import { describeGatehouse, describeMachine } from './describe-machine.ts';
import { campaignEnvironment } from './environment.ts';
import type { Evidence } from './evidence.ts';
import { folderOf, openGateway } from './gateway.ts';
import type { OpenLink } from './gateway.ts';
import { judge } from './judge.ts';
import { openNetworkLink } from './network-link.ts';
import { seededRandom, shuffled } from './random.ts';
import { forgetMasterKey, requireEmptyBroker, requireHarmlessDatabase } from './require-harmless.ts';
import { mountSmallDisk } from './small-disk.ts';
import type { SmallDisk } from './small-disk.ts';
import { attack, notTried } from './attack.ts';
import type { PlannedFault } from './attack.ts';

export interface CampaignParts {
  readonly projectRoot: string;
  readonly environment: ProcessEnvironment;
  /** An absolute path. Each campaign has a folder of its own in it. */
  readonly folder: string;
  readonly report: (line: string) => void;
  readonly signal: AbortSignal;
  /** The network between the processes. */
  readonly openLink?: OpenLink;
}

/** The results, and the folder with the logs and the database, which is kept unless the campaign passed. */
export interface CampaignResult {
  readonly report: ProveReport;
  readonly keptFolder: string | undefined;
}

/** Runs a campaign. @throws StartError, SettingsError or the signal's reason; nothing is left running */
export async function runCampaign(
  options: ProveOptions & { readonly seed: number },
  parts: CampaignParts,
): Promise<CampaignResult> {
  if (options.databaseUrl !== undefined) await requireHarmlessDatabase(options.databaseUrl);
  if (options.natsUrl !== undefined) await requireEmptyBroker(options.natsUrl);
  const beganAtMs = Date.now();
  await mkdir(parts.folder, { recursive: true, mode: 0o711 });
  const folder = await mkdtemp(join(parts.folder, 'campaign-'));
  // PostgreSQL may run as another user.
  await chmod(folder, 0o711);
  const own = campaignEnvironment(parts.environment);
  let isKept = true;
  try {
    const result = await runStands(options, parts, { folder, beganAtMs, environment: own.environment });
    const invariants = judge(result.evidence);
    const { verdict, reasons } = verdictOf(invariants, result.faults);
    isKept = verdict !== 'passed';
    const report: ProveReport = {
      verdict,
      reasons: [...reasons],
      gatehouse: await describeGatehouse(parts.projectRoot),
      machine: result.machine ?? unknownMachine,
      campaign: describeCampaign(options, beganAtMs, result.settledSeconds),
      configuration: {
        database: serverOf(options.databaseUrl),
        broker: serverOf(options.natsUrl),
        settings: { ...own.settings },
        settings_of_the_campaign: { ...own.settingsOfTheCampaign },
        settings_left_out: [...own.leftOut],
      },
      counts: countAll(result.evidence, result.faults),
      invariants: [...invariants],
      faults: [...result.faults],
    };
    return { report, keptFolder: isKept ? folder : undefined };
  } finally {
    if (!isKept || parts.signal.aborted) await rm(folder, { recursive: true, force: true });
  }
}

function describeCampaign(
  { seed, rounds, ratePerSecond, faults }: ProveOptions & { readonly seed: number },
  beganAtMs: number,
  settledSeconds: number,
): ProveReport['campaign'] {
  const endedAtMs = Date.now();
  return {
    seed,
    rounds,
    rate_per_second: ratePerSecond,
    faults: faults.map(faultName),
    began_at: new Date(beganAtMs).toISOString(),
    ended_at: new Date(endedAtMs).toISOString(),
    seconds: Math.round((endedAtMs - beganAtMs) / 1_000),
    settled_after_seconds: Math.round(settledSeconds),
  };
}

interface StandsResult {
  readonly evidence: readonly Evidence[];
  readonly faults: readonly FaultResult[];
  /** Undefined if no gateway could be made. */
  readonly machine: ProveReport['machine'] | undefined;
  readonly settledSeconds: number;
}

/** Inflicts the faults of all rounds, in an order that the seed decides. */
async function runStands(
  options: ProveOptions & { readonly seed: number },
  parts: CampaignParts,
  campaign: {
    readonly folder: string;
    readonly beganAtMs: number;
    readonly environment: ProcessEnvironment;
  },
): Promise<StandsResult> {
  const { seed, rounds, minutes } = options;
  const random = seededRandom(seed);
  const planned: PlannedFault[] = Array.from({ length: rounds }, (_, round) =>
    shuffled(options.faults, random).map((fault) => ({ round: round + 1, fault })),
  ).flat();
  const endsAtMs = minutes === undefined ? undefined : campaign.beganAtMs + minutes * 60_000;
  const shared = { options, parts, random, environment: campaign.environment, endsAtMs };
  const evidence: Evidence[] = [];
  const results: FaultResult[] = [];
  let machine: ProveReport['machine'] | undefined;
  let settledSeconds = 0;
  // A small disk is in memory. So the other faults have a gateway whose data are on the machine's own disk.
  for (const name of ['main', 'disks'] as const) {
    const faults = planned.filter(({ fault }) => (fault.kind === 'disk') === (name === 'disks'));
    if (faults.length === 0) continue;
    const stand = await runStand({ ...shared, name, faults, folder: join(campaign.folder, name) });
    if ('problem' in stand) {
      results.push(...faults.map((each) => notTried(namesOf(each), stand.problem)));
      continue;
    }
    evidence.push(stand.evidence);
    machine ??= stand.machine;
    results.push(...stand.evidence.faults);
    settledSeconds += stand.settledSeconds;
  }
  return { evidence, faults: results, machine, settledSeconds };
}

const namesOf = ({ round, fault }: PlannedFault) => ({ round, target: fault.target, fault: fault.kind });

const unknownMachine: ProveReport['machine'] = {
  system: '',
  processors: '',
  memory_bytes: 0,
  node: process.version,
  database: '',
  file_system: '',
};

/** A server for the report: its host without user and password. */
function serverOf(url: string | undefined): string {
  if (url === undefined) return "the campaign's own";
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`;
}

interface StandParts {
  readonly options: ProveOptions & { readonly seed: number };
  readonly parts: CampaignParts;
  readonly random: () => number;
  readonly environment: ProcessEnvironment;
  readonly name: 'main' | 'disks';
  readonly faults: readonly PlannedFault[];
  readonly endsAtMs: number | undefined;
  readonly folder: string;
}

interface StandResult {
  readonly evidence: Evidence;
  readonly machine: ProveReport['machine'];
  /** From the end of the last fault until the last order ended. */
  readonly settledSeconds: number;
}

/** Runs one gateway from its start to its end. Returns the problem if it cannot be started on this machine. */
async function runStand(stand: StandParts): Promise<StandResult | { readonly problem: string }> {
  const { options, parts, faults, folder, name } = stand;
  const { report, signal } = parts;
  const disks = new Map<string, SmallDisk>();
  const close: (() => unknown)[] = [];
  try {
    await mkdir(folder, { recursive: true, mode: 0o711 });
    const problem = name === 'disks' ? await mountDisks(stand, disks, close) : undefined;
    if (problem !== undefined) return problem;
    report(
      `Starting ${name === 'disks' ? 'a gateway on small disks' : 'a gateway'} in ${folder}, for ${faults.length} ${faults.length === 1 ? 'fault' : 'faults'}`,
    );
    if (options.databaseUrl !== undefined) await forgetMasterKey(options.databaseUrl);
    const exits: { name: string; line: string }[] = [];
    const gateway = await openGateway({
      folder,
      environment: stand.environment,
      projectRoot: parts.projectRoot,
      databaseUrl: options.databaseUrl,
      natsUrl: options.natsUrl,
      attacked: new Set(faults.map(({ fault }) => fault.target)),
      openLink: parts.openLink ?? (({ server }) => openNetworkLink(server)),
      onExit: (target, line) => void exits.push({ name: target, line }),
      report,
      signal,
    });
    close.push(gateway.stop);
    if (!gateway.isDatabaseInside) disks.delete(faultName({ target: 'database', kind: 'disk' }));
    const evidence = await attack({
      gateway,
      folder,
      disks,
      faults,
      exits,
      report,
      signal,
      endsAtMs: stand.endsAtMs,
      prefix: `P${options.seed}-${name === 'disks' ? 'D' : 'M'}`,
      seed: options.seed,
      ratePerSecond: options.ratePerSecond,
      random: stand.random,
    });
    const lastEnd = Math.max(evidence.faultsEndedAtMs, ...evidence.decidedAtMs.values());
    return {
      evidence,
      machine: await describeMachine(dirname(folder), gateway.databaseUrl),
      settledSeconds: (lastEnd - evidence.faultsEndedAtMs) / 1_000,
    };
  } finally {
    for (const step of close.toReversed()) await step();
  }
}

/** Mounts a small disk for each fault of a disk. Returns why one cannot be mounted. */
async function mountDisks(
  { options, faults, folder }: StandParts,
  disks: Map<string, SmallDisk>,
  close: (() => unknown)[],
): Promise<{ readonly problem: string } | undefined> {
  for (const { fault } of faults) {
    if (disks.has(faultName(fault)) || isElsewhere(fault, options)) continue;
    const diskFolder = folderOf(folder, fault.target);
    await mkdir(diskFolder, { recursive: true, mode: 0o711 });
    const disk = mountSmallDisk(diskFolder);
    if ('problem' in disk) return disk;
    disks.set(faultName(fault), disk);
    close.push(disk.unmount);
  }
  return undefined;
}

const isElsewhere = ({ target }: Fault, { databaseUrl, natsUrl }: ProveOptions): boolean =>
  (target === 'database' && databaseUrl !== undefined) || (target === 'broker' && natsUrl !== undefined);

/** Passed: everything that could be tried was tried and held. */
function verdictOf(invariants: readonly InvariantResult[], faults: readonly FaultResult[]) {
  const broken = invariants.filter(({ result }) => result === 'broken');
  if (broken.length > 0)
    return {
      verdict: 'failed' as const,
      reasons: broken.map(({ name, violation_count: count }) => `${name} is broken (${count})`),
    };
  const attacksBroker = faults.some(({ target, tried }) => target === 'broker' && tried);
  const untried = invariants.filter(
    ({ name, result }) => result === 'not_tried' && (name !== 'broker_loss_harmless' || attacksBroker),
  );
  const missed = faults.filter((fault) => fault.missed);
  const isNothingTried = !faults.some(({ tried }) => tried);
  const reasons = [
    ...untried.map(({ name, seen }) => `${name} was not tried: ${seen}`),
    ...(missed.length === 0 ? [] : [`${missed.length} faults were not tried: the time was over`]),
    ...(isNothingTried ? ['no fault was tried'] : []),
  ];
  return { verdict: reasons.length === 0 ? ('passed' as const) : ('incomplete' as const), reasons };
}

function countAll(all: readonly Evidence[], faults: readonly FaultResult[]): Record<string, number> {
  const sum = (count: (evidence: Evidence) => number): number =>
    all.reduce((total, evidence) => total + count(evidence), 0);
  const withStatus = (status: string): number =>
    sum(({ records }) => records.filter((record) => record.status === status).length);
  return {
    faults: faults.filter(({ tried }) => tried).length,
    orders_acknowledged: sum(
      ({ orders }) => orders.filter(({ acknowledgedAtMs }) => acknowledgedAtMs !== undefined).length,
    ),
    orders_completed: withStatus('COMPLETED'),
    orders_failed: withStatus('FAILED'),
    orders_pending: withStatus('PENDING'),
    refunds: sum(({ records }) => records.reduce((total, { refunds }) => total + refunds.length, 0)),
    charges: sum(({ charges }) => charges.length),
    webhooks: sum(({ exchanges }) => exchanges.length),
    requests_without_answer: sum(({ unanswered }) => unanswered),
    customers_turned_away: sum(({ turnedAway }) => turnedAway),
  };
}
