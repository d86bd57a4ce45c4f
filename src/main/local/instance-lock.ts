import { stat } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { hasCode } from './error-code.ts';

/** Held until the process exits for any reason. */
export interface InstanceLock {
  readonly release: () => Promise<void>;
}

/** Another process holds the lock. `pid` is undefined when that process exited or is too busy to answer. */
export interface LockedBy {
  readonly pid: number | undefined;
}

const answerDeadlineMs = 2_000;

async function askForPid(path: string): Promise<number | undefined> {
  const socket = connect(path);
  socket.setTimeout(answerDeadlineMs, () => socket.destroy());
  try {
    let answer = '';
    for await (const chunk of socket) answer += String(chunk);
    return Number(answer) || undefined;
  } catch {
    return undefined;
  }
}

/**
 * One Gatehouse per folder. The lock is a socket in Linux's abstract namespace. Taking it is atomic, and the kernel
 * releases it when its holder exits. So no lock is left behind, as a file would be.
 */
export async function lockFolder(folder: string): Promise<InstanceLock | LockedBy> {
  const { dev, ino } = await stat(folder);
  const path = `\0gatehouse-${dev}-${ino}`;
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    // A peer that keeps its side open must not hold up the release.
    socket.end(String(process.pid), () => socket.destroy());
  });
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(path, resolve);
    });
  } catch (error) {
    if (hasCode(error, 'EADDRINUSE')) return { pid: await askForPid(path) };
    throw error;
  }
  server.unref();
  return { release: () => new Promise((resolve) => server.close(() => resolve())) };
}
