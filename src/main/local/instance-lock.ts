import { stat } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { hasCode } from './error-code.ts';

/** Held until the process ends, however it ends. */
export interface InstanceLock {
  readonly release: () => Promise<void>;
}

/** Somebody else holds it. `pid` is undefined when that process ended or is too busy to say. */
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
 * One Gatehouse per folder. The lock is a socket in Linux's abstract namespace: taking it is atomic, and the
 * kernel lets go of it when its holder dies, so a lock is never left behind as a file would be.
 */
export async function lockFolder(folder: string): Promise<InstanceLock | LockedBy> {
  const { dev, ino } = await stat(folder);
  const path = `\0gatehouse-${dev}-${ino}`;
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.end(String(process.pid));
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
