import { setTimeout as delay } from 'node:timers/promises';
import type { Fault } from '../../cli/prove/faults.ts';
import type { CampaignGateway } from './gateway.ts';
import type { AfterInterruption, NetworkLink } from './network-link.ts';
import type { SmallDisk } from './small-disk.ts';
import type { StoppableProcess } from './stoppable-process.ts';

export interface FaultParts {
  readonly gateway: CampaignGateway;
  readonly diskOf: (fault: Fault) => SmallDisk | undefined;
  readonly random: () => number;
  readonly signal: AbortSignal;
}

/** How long a fault lasts, in milliseconds. */
const lasts = { minMs: 1_000, maxMs: 5_000 } as const;
/** A disk fault lasts this many times longer. The first writes still fit into space that is already allocated. */
const diskFactor = 3;
/** A crashed PostgreSQL holds its shared memory for a moment, so a start may have to be repeated. */
const startWithinMs = 60_000;

/** Why a fault cannot be done here; undefined when it can. */
export function reasonNotPossible(
  { target, kind }: Fault,
  { gateway, diskOf }: FaultParts,
): string | undefined {
  if (kind === 'network') return undefined;
  if (!gateway.processes.has(target))
    return `the ${target} runs elsewhere, so only its network can be attacked`;
  if (kind === 'disk' && diskOf({ target, kind }) === undefined)
    return 'its user cannot enter the folder of the campaign, so it has no small disk; name another --folder';
  return undefined;
}

/** Inflicts one fault and ends it. Returns how it was done. */
export async function inflictFault(fault: Fault, parts: FaultParts): Promise<string> {
  const { gateway, random, signal } = parts;
  const { target, kind } = fault;
  const ms = Math.round(lasts.minMs + random() * (lasts.maxMs - lasts.minMs));
  const choice = random();
  const pause: Pause = (factor = 1) => delay(ms * factor, undefined, { signal });
  if (kind === 'network')
    return interruptNetwork(gateway.linksOf(target), choice < 0.5 ? 'continue' : 'dead', pause);
  const attacked = gateway.processes.get(target);
  if (attacked === undefined) throw new Error(`${target} does not run here`);
  switch (kind) {
    case 'kill':
      await attacked.killAndStop();
      await pause();
      await startAgain(attacked, signal);
      return 'SIGKILL, and started again';
    case 'stop':
      await attacked.stop();
      await pause();
      await startAgain(attacked, signal);
      return 'SIGTERM (PostgreSQL: SIGINT), and started again';
    case 'freeze':
      attacked.freeze();
      try {
        await pause();
      } finally {
        attacked.thaw();
      }
      return 'SIGSTOP, then SIGCONT';
    case 'disk':
      return fillDisk(fault, parts, pause);
  }
}

type Pause = (factor?: number) => Promise<unknown>;

async function interruptNetwork(
  links: readonly NetworkLink[],
  earlier: AfterInterruption,
  pause: Pause,
): Promise<string> {
  links.forEach((link) => link.interrupt());
  try {
    await pause();
  } finally {
    links.forEach((link) => link.restore(earlier));
  }
  return earlier === 'dead'
    ? 'all packets lost; earlier connections stay silent without an error'
    : 'all packets lost; earlier connections continue';
}

async function fillDisk(fault: Fault, { gateway, diskOf }: FaultParts, pause: Pause): Promise<string> {
  const { target } = fault;
  const disk = diskOf(fault);
  if (disk === undefined) throw new Error(`${target} has no disk of its own`);
  const before = await gateway.countLackOfSpace();
  await disk.fill();
  let isStuck: boolean;
  try {
    await pause(diskFactor);
    isStuck = target === 'broker' && (await gateway.notReady()).includes('broker');
  } finally {
    disk.makeRoom();
  }
  if (target === 'broker')
    return `no space left for its data; its store ${isStuck ? 'no longer answered' : 'still answered'}`;
  if (target !== 'database') return 'no space left for its log';
  const count = (await gateway.countLackOfSpace()) - before;
  return `no space left for its data; its log says so ${count} times`;
}

async function startAgain(attacked: StoppableProcess, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + startWithinMs;
  for (;;) {
    try {
      await attacked.start();
      return;
    } catch (error) {
      signal.throwIfAborted();
      if (performance.now() > deadline) throw error;
      await delay(300, undefined, { signal });
    }
  }
}
