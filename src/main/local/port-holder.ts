import { readFile, readdir, readlink } from 'node:fs/promises';

/** A line of /proc/net/tcp: local address and port in hexadecimal, the state (0A listens), and the socket's inode. */
const listening = /^\s*\d+: [0-9A-F]+:([0-9A-F]{4}) \S+ 0A (?:\S+\s+){5}(\d+)/;

async function inodesOf(port: number): Promise<ReadonlySet<string>> {
  const tables = await Promise.all(
    ['/proc/net/tcp', '/proc/net/tcp6'].map((path) => readFile(path, 'utf8').catch(() => '')),
  );
  return new Set(
    tables
      .flatMap((table) => table.split('\n'))
      .flatMap((line) => {
        const [, hexPort = '', inode = ''] = listening.exec(line) ?? [];
        return parseInt(hexPort, 16) === port ? [inode] : [];
      }),
  );
}

async function holds(pid: string, inodes: ReadonlySet<string>): Promise<boolean> {
  const descriptors = await readdir(`/proc/${pid}/fd`).catch(() => []);
  const targets = await Promise.all(
    descriptors.map((descriptor) => readlink(`/proc/${pid}/fd/${descriptor}`).catch(() => '')),
  );
  return targets.some((target) => inodes.has(/^socket:\[(\d+)\]$/.exec(target)?.[1] ?? ''));
}

/**
 * The process that listens on this TCP port, as "nginx, process 4711". Undefined when it is unknown. Sockets of other
 * users' processes are visible to root only, and those of other containers are not visible.
 */
export async function findPortHolder(port: number): Promise<string | undefined> {
  const inodes = await inodesOf(port);
  if (inodes.size === 0) return undefined;
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  for (const pid of pids) {
    if (!(await holds(pid, inodes))) continue;
    const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '');
    return `${name.trim() || 'a program'}, process ${pid}`;
  }
  return undefined;
}
