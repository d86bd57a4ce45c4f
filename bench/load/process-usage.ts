import { readFileSync, readdirSync } from 'node:fs';

const ticksPerSecond = 100;
/** Indexes into `fieldsOf`: utime, followed by stime, cutime and cstime. */
const userTicksField = 12;

/** CPU seconds since the processes began. The time of an exited child is added to its parent: proc(5). */
export function cpuSecondsOf(pids: readonly number[]): number {
  const ticks = pids.flatMap((pid) =>
    fieldsOf(pid)
      .slice(userTicksField, userTicksField + 4)
      .map(Number),
  );
  return ticks.reduce((sum, each) => sum + each, 0) / ticksPerSecond;
}

/** The same in nanoseconds instead of hundredths of a second, but without exited threads and children. */
export function fineCpuSecondsOf(pids: readonly number[]): number {
  const threads = pids.flatMap((pid) =>
    readdirSync(`/proc/${pid}/task`)
      .map((thread) => `task/${thread}/schedstat`)
      .map((file) => readOf(pid, file)),
  );
  return threads.reduce((sum, text) => sum + Number(text.split(' ')[0]), 0) / 1e9;
}

/**
 * The fields of /proc/<pid>/stat from the state on, because the name before it may contain anything. Empty for an
 * exited process.
 */
function fieldsOf(pid: number): string[] {
  const text = readOf(pid, 'stat');
  return text === '' ? [] : ['', ...text.slice(text.lastIndexOf(')') + 2).split(' ')];
}

function readOf(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

/** A figure of /proc/<pid>/status, in bytes. */
function statusOf(pid: number, name: string): number {
  return Number(new RegExp(`^${name}:\\s+([0-9]+) kB$`, 'm').exec(readOf(pid, 'status'))?.[1] ?? 0) * 1024;
}

/** The resident memory now. */
export const residentBytesOf = (pid: number): number => statusOf(pid, 'VmRSS');

/** The largest resident memory so far. */
export const peakBytesOf = (pid: number): number => statusOf(pid, 'VmHWM');

/**
 * The memory of processes that share memory, such as PostgreSQL's: the private memory of each, and the shared memory
 * once.
 */
export function sharingBytesOf(pids: readonly number[]): number {
  const own = pids.reduce((sum, pid) => sum + statusOf(pid, 'RssAnon'), 0);
  return own + Math.max(...pids.map((pid) => statusOf(pid, 'RssShmem')));
}

/** A process and its children: PostgreSQL's postmaster with its backends. */
export const familyOf = (pid: number): number[] => [pid, ...childrenOf(pid)];

function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^[0-9]+$/.test(name))
    .map(Number)
    .filter((each) => parentOf(each) === pid);
}

export const childrenNamed = (pid: number, name: string): number[] =>
  childrenOf(pid).filter((each) => readOf(each, 'comm').trim() === name);

export const parentOf = (pid: number): number => Number(fieldsOf(pid)[2] ?? 0);
