import { readFile, readdir, readlink } from 'node:fs/promises';

/** A line of /proc/net/tcp: local address and port in hexadecimal, the state (0A listens), and the socket's inode. */
const socketLine = /^\s*\d+: [0-9A-F]+:([0-9A-F]{4}) \S+ ([0-9A-F]{2}) (?:\S+\s+){5}(\d+)/;

async function socketsOf(
  port: number,
): Promise<readonly { readonly state: string; readonly inode: string }[]> {
  const tables = await Promise.all(
    ['/proc/net/tcp', '/proc/net/tcp6'].map((path) => readFile(path, 'utf8').catch(() => '')),
  );
  return tables
    .flatMap((table) => table.split('\n'))
    .flatMap((line) => {
      const [, hexPort = '', state = '', inode = ''] = socketLine.exec(line) ?? [];
      return parseInt(hexPort, 16) === port ? [{ state, inode }] : [];
    });
}

async function holdsSocket(pid: string, inodes: ReadonlySet<string>): Promise<boolean> {
  const descriptors = await readdir(`/proc/${pid}/fd`).catch(() => []);
  const targets = await Promise.all(
    descriptors.map((descriptor) => readlink(`/proc/${pid}/fd/${descriptor}`).catch(() => '')),
  );
  return targets.some((target) => inodes.has(/^socket:\[(\d+)\]$/.exec(target)?.[1] ?? ''));
}

/** The holder of a TCP port. */
export interface PortHolder {
  /** Whether it is only an outgoing connection, and no program listens. After its end, the connection keeps the port for a minute. */
  readonly isConnection: boolean;
  /** Such as "nginx, process 4711". Undefined when it is unknown: sockets of other users' processes are visible to root only. */
  readonly program: string | undefined;
}

/** The holder of this TCP port. Undefined when nothing is visible, as for the sockets of other containers. */
export async function findPortHolder(port: number): Promise<PortHolder | undefined> {
  const sockets = await socketsOf(port);
  if (sockets.length === 0) return undefined;
  const listeners = sockets.filter(({ state }) => state === '0A');
  const isConnection = listeners.length === 0;
  const inodes = new Set((isConnection ? sockets : listeners).map(({ inode }) => inode));
  return { isConnection, program: await programOf(inodes) };
}

async function programOf(inodes: ReadonlySet<string>): Promise<string | undefined> {
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  for (const pid of pids) {
    if (!(await holdsSocket(pid, inodes))) continue;
    const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '');
    return `${name.trim() || 'a program'}, process ${pid}`;
  }
  return undefined;
}
