import { readFileSync, readdirSync } from 'node:fs';

/** What a process, or several as one, have used since they began. */
export interface Usage {
  readonly cpuSeconds: number;
  /** The most memory resident at a time, summed over the processes. */
  readonly peakBytes: number;
}

const ticksPerSecond = 100;
/** Of `fieldsOf`: utime, with stime, cutime and cstime behind it. */
const userTicksField = 12;

/** proc(5). A child that has ended counts for its parent from then on; what is not there any more counts for nothing. */
export function usageOf(pids: readonly number[]): Usage {
  return pids.map(readUsage).reduce((sum, each) => ({
    cpuSeconds: sum.cpuSeconds + each.cpuSeconds,
    peakBytes: sum.peakBytes + each.peakBytes,
  }));
}

function readUsage(pid: number): Usage {
  try {
    const ticks = fieldsOf(pid)
      .slice(userTicksField, userTicksField + 4)
      .map(Number);
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const peakKb = Number(/^VmHWM:\s+([0-9]+) kB$/m.exec(status)?.[1] ?? 0);
    return {
      cpuSeconds: ticks.reduce((sum, each) => sum + each, 0) / ticksPerSecond,
      peakBytes: peakKb * 1024,
    };
  } catch {
    return { cpuSeconds: 0, peakBytes: 0 };
  }
}

/** Of /proc/<pid>/stat, from the state on; the name before it may hold anything. */
function fieldsOf(pid: number): string[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return ['', ...text.slice(text.lastIndexOf(')') + 2).split(' ')];
}

/** A process and its children: PostgreSQL's postmaster with its backends. */
export function familyOf(pid: number): number[] {
  const children = readdirSync('/proc')
    .filter((name) => /^[0-9]+$/.test(name))
    .map(Number)
    .filter((each) => parentOf(each) === pid);
  return [pid, ...children];
}

export function parentOf(pid: number): number {
  try {
    return Number(fieldsOf(pid)[2]);
  } catch {
    return 0;
  }
}
