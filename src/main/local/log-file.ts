import { copyFile, mkdir, open, rename, stat, statfs, truncate } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { hasCode } from './error-code.ts';

/** The log of one process. The process writes it, and this module bounds its size. */
export interface LogFile {
  readonly path: string;
  /** Opens it for a process that is about to start, even if its folder was deleted. `readNew` reads from here. */
  readonly open: () => Promise<FileHandle>;
  /** The text written since `open`. */
  readonly readNew: () => Promise<string>;
  /** The last lines. */
  readonly tail: () => Promise<string>;
  /** Whether the disk has no room for more lines. The process then keeps them until there is room. */
  readonly isDiskFull: () => Promise<boolean>;
  /** Moves the content to `<path>.1` when the log is too large. */
  readonly bound: () => Promise<void>;
}

const defaultLargestBytes = 64 * 1024 * 1024;
/** The smallest space in which any log line fits. */
const minRoomBytes = 64 * 1024;
const tailBytes = 4096;
const tailLines = 25;

async function sizeOf(path: string): Promise<number> {
  return (await stat(path)).size;
}

async function readFrom(path: string, position: number): Promise<string> {
  const file = await open(path);
  try {
    const length = Math.max(0, (await file.stat()).size - position);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}

/** Starts a log. The log of the previous run, if any, is kept as `<path>.1`. */
export async function beginLog(path: string, largestBytes = defaultLargestBytes): Promise<LogFile> {
  await rename(path, `${path}.1`).catch((error: unknown) => {
    if (!hasCode(error, 'ENOENT')) throw error;
  });
  let from = 0;
  return {
    path,
    open: async () => {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      const file = await open(path, 'a', 0o600);
      from = await sizeOf(path);
      return file;
    },
    // Only `bound` shortens the file. All lines of a shortened file are new.
    readNew: async () => readFrom(path, (await sizeOf(path)) < from ? 0 : from),
    tail: async () => {
      const text = await readFrom(path, Math.max(0, (await sizeOf(path)) - tailBytes));
      return text.trimEnd().split('\n').slice(-tailLines).join('\n');
    },
    isDiskFull: async () => {
      const { bavail, bsize } = await statfs(path);
      return bavail * bsize < minRoomBytes;
    },
    // The process appends, so it continues at the beginning. Lines written between the two calls are lost.
    bound: async () => {
      if ((await sizeOf(path)) < largestBytes) return;
      await copyFile(path, `${path}.1`);
      await truncate(path);
    },
  };
}

/** Bounds a log, and calls `warn` about each problem once until it has passed. Never rejects. */
export function createLogBounds(warn: (line: string) => void): (log: LogFile) => Promise<void> {
  const known = new Map<LogFile, string>();
  return async (log) => {
    try {
      await log.bound();
      known.delete(log);
    } catch (error) {
      const problem = hasCode(error, 'ENOENT')
        ? `${log.path} was deleted. Its process still writes to the deleted file, which grows without limit; start Gatehouse again`
        : `${log.path} cannot be rotated: ${String(error)}`;
      if (known.get(log) !== problem) warn(problem);
      known.set(log, problem);
    }
  };
}
