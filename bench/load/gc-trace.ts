import { open } from 'node:fs/promises';

/** The lines of Node's --trace-gc in a process's log, read from where the previous reading ended. */
export interface GcTrace {
  /** Megabytes in use after the last collection of the whole heap; NaN before the first. */
  readonly heapAfterCollection: () => Promise<number>;
}

const chunkBytes = 1024 * 1024;
/** "Mark-Compact 45.1 (60.2) -> 30.1 (55.0) MB": before and after, with the reserved memory in brackets. */
const wholeCollection = /Mark-Compact[^\n]*? [0-9.]+ \([0-9.]+\) -> ([0-9.]+) \(/g;

export function readGcTrace(logFile: string): GcTrace {
  let position = 0;
  let unfinished = '';
  let heap = Number.NaN;
  return {
    heapAfterCollection: async () => {
      const file = await open(logFile);
      try {
        const buffer = Buffer.alloc(chunkBytes);
        for (;;) {
          const { bytesRead } = await file.read(buffer, 0, chunkBytes, position);
          if (bytesRead === 0) return heap;
          position += bytesRead;
          const text = unfinished + buffer.toString('latin1', 0, bytesRead);
          const end = text.lastIndexOf('\n') + 1;
          unfinished = text.slice(end);
          for (const [, after] of text.slice(0, end).matchAll(wholeCollection)) heap = Number(after);
        }
      } finally {
        await file.close();
      }
    },
  };
}
