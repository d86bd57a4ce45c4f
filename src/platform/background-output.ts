import { writeSync } from 'node:fs';

/** Where lines go: a file descriptor of this process that never makes it wait. */
export interface BackgroundOutput {
  readonly write: (text: string) => void;
  /** Writes what is waiting now, as far as the reader takes it. */
  readonly flushSync: () => unknown;
  /** Writes what is waiting as its process exits, for as long as `lastWriteMs` if the reader takes something. */
  readonly writeTheRest: () => void;
}

/** Room for a reader that is stuck for a while. Beyond it lines are dropped, and counted in a line of their own. */
const maxWaitingBytes = 32 * 2 ** 20;
const longestPauseMs = 100;
/** How long an exit may take for what a reader has not taken yet. */
const lastWriteMs = 400;

/**
 * Writes without waiting: the lines of one turn of the event loop go out together at its end, or when the reader has
 * room for them again. Every byte is written once, in order, by the one thread there is: a thread stuck in a write would
 * hold up the exit for good. What a reader never takes is lost, as is everything once it is gone.
 *
 * `fd` must not block; `explainDropped` makes the line that says how many were dropped.
 */
export function openBackgroundOutput(
  fd: number,
  explainDropped: (dropped: number) => string,
): BackgroundOutput {
  let gathered = '';
  let onItsWay = Buffer.alloc(0);
  let dropped = 0;
  let scheduled = false;
  let closed = false;
  let pauseMs = 1;

  /** Whether the reader took anything. */
  const writeSome = (): boolean => {
    try {
      const written = writeSync(fd, onItsWay);
      onItsWay = onItsWay.subarray(written);
      return written > 0;
    } catch (error) {
      // Anything else may pass: a pipe that is full now, a disk until somebody makes room.
      if (isGone(error)) closed = true;
      return false;
    }
  };
  const flushSync = (): boolean => {
    while (!closed) {
      if (onItsWay.length === 0) {
        if (dropped > 0) gathered += explainDropped(dropped);
        dropped = 0;
        onItsWay = Buffer.from(gathered);
        gathered = '';
      }
      if (onItsWay.length === 0) return true;
      if (!writeSome()) return false;
      pauseMs = 1;
    }
    gathered = '';
    onItsWay = Buffer.alloc(0);
    return true;
  };
  const writeOn = (): void => {
    scheduled = false;
    if (flushSync()) return;
    scheduled = true;
    // A process that has nothing else to do ends, and writes the rest as it does.
    setTimeout(writeOn, pauseMs).unref();
    pauseMs = Math.min(pauseMs * 2, longestPauseMs);
  };
  return {
    write: (text) => {
      if (closed) return;
      if (gathered.length + onItsWay.length + text.length > maxWaitingBytes) dropped += 1;
      else gathered += text;
      if (scheduled) return;
      scheduled = true;
      setImmediate(writeOn);
    },
    flushSync,
    writeTheRest: () => {
      const deadline = performance.now() + lastWriteMs;
      while (!flushSync() && performance.now() < deadline) block(1);
    },
  };
}

function isGone(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === 'EPIPE';
}

function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
