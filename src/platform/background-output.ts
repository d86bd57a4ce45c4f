import { writeSync } from 'node:fs';

/** An output for lines: a file descriptor that never blocks the process. */
export interface BackgroundOutput {
  readonly write: (text: string) => void;
  /** Writes the waiting lines now, as far as the reader accepts them. */
  readonly flushSync: () => unknown;
  /** Writes the waiting lines at exit. Takes at most `lastWriteMs`, and less if the reader accepts nothing. */
  readonly flushAtExit: () => void;
}

/** The buffer for a reader that hangs for a while. When it is full, lines are dropped and counted in a separate line. */
const maxWaitingBytes = 32 * 2 ** 20;
const longestPauseMs = 100;
/** How long an exit may wait for the reader to accept the remaining lines. */
const lastWriteMs = 400;

/**
 * Writes without blocking. The lines of one turn of the event loop are written together at its end, or when the reader can
 * accept them again. The main thread writes every byte once and in order, because another thread that hangs in a write would
 * block the exit for ever. Lines that the reader never accepts are lost, and so are all lines after it disconnects.
 *
 * `fd` must not block; `explainDropped` creates the line that reports the number of dropped lines.
 */
export function openBackgroundOutput(
  fd: number,
  explainDropped: (dropped: number) => string,
): BackgroundOutput {
  let gathered = '';
  let beingWritten = Buffer.alloc(0);
  let dropped = 0;
  let scheduled = false;
  let closed = false;
  let pauseMs = 1;

  /** Whether the reader accepted anything. */
  const writeOnce = (): boolean => {
    try {
      const written = writeSync(fd, beingWritten);
      beingWritten = beingWritten.subarray(written);
      return written > 0;
    } catch (error) {
      // Other errors may be temporary, such as a full pipe or a full disk.
      if (isDisconnected(error)) closed = true;
      return false;
    }
  };
  const flushSync = (): boolean => {
    while (!closed) {
      if (beingWritten.length === 0) {
        if (dropped > 0) gathered += explainDropped(dropped);
        dropped = 0;
        beingWritten = Buffer.from(gathered);
        gathered = '';
      }
      if (beingWritten.length === 0) return true;
      if (!writeOnce()) return false;
      pauseMs = 1;
    }
    gathered = '';
    beingWritten = Buffer.alloc(0);
    return true;
  };
  const writeOn = (): void => {
    scheduled = false;
    if (flushSync()) return;
    scheduled = true;
    // This timer must not keep the process running. The exit writes the remaining lines.
    setTimeout(writeOn, pauseMs).unref();
    pauseMs = Math.min(pauseMs * 2, longestPauseMs);
  };
  return {
    write: (text) => {
      if (closed) return;
      if (gathered.length + beingWritten.length + text.length > maxWaitingBytes) dropped += 1;
      else gathered += text;
      if (scheduled) return;
      scheduled = true;
      setImmediate(writeOn);
    },
    flushSync,
    flushAtExit: () => {
      const deadline = performance.now() + lastWriteMs;
      while (!flushSync() && performance.now() < deadline) blockThread(1);
    },
  };
}

function isDisconnected(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === 'EPIPE';
}

function blockThread(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
