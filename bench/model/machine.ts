/** Simulated time, and CPUs on which threads run. All times are in microseconds. */
export interface SimulatedMachine {
  readonly now: () => number;
  /** Calls back after a time that needs no CPU, such as a sync of the disk. */
  readonly after: (us: number, then: () => void) => void;
  /** A thread runs one piece of work at a time, in the order of arrival, when a CPU is free. */
  readonly thread: () => Thread;
  /** Runs the events until the time. */
  readonly runUntil: (us: number) => void;
  /** CPU used so far. */
  readonly used: () => number;
}

export interface Thread {
  readonly run: (us: number, then: () => void) => void;
  readonly busy: () => boolean;
  /** CPU used so far. */
  readonly used: () => number;
}

interface Timer {
  readonly at: number;
  readonly then: () => void;
}

interface Ready {
  readonly us: number;
  readonly then: () => void;
}

/** Free CPUs take threads in the order in which they became ready. A piece of work, at most a few ms, is not interrupted. */
export function simulatedMachine(cpus: number): SimulatedMachine {
  let time = 0;
  let free = cpus;
  let usedInAll = 0;
  /** The latest first. There are few, because each is a CPU at work, a sync or a pause. */
  const timers: Timer[] = [];
  const ready: Ready[] = [];

  const after = (us: number, then: () => void): void => {
    const at = time + us;
    let place = timers.length;
    while (place > 0 && (timers[place - 1]?.at ?? Infinity) <= at) place -= 1;
    timers.splice(place, 0, { at, then });
  };
  const occupy = (): void => {
    while (free > 0) {
      const next = ready.shift();
      if (next === undefined) return;
      free -= 1;
      usedInAll += next.us;
      after(next.us, () => {
        free += 1;
        next.then();
        occupy();
      });
    }
  };
  const thread = (): Thread => {
    const waiting: Ready[] = [];
    let running = false;
    let used = 0;
    const advance = (): void => {
      const next = waiting.shift();
      running = next !== undefined;
      if (next === undefined) return;
      ready.push({
        us: next.us,
        then: () => {
          used += next.us;
          next.then();
          advance();
        },
      });
      occupy();
    };
    return {
      run: (us, then) => {
        waiting.push({ us, then });
        if (!running) advance();
      },
      busy: () => running,
      used: () => used,
    };
  };
  const runUntil = (us: number): void => {
    for (let next = timers.at(-1); next !== undefined && next.at <= us; next = timers.at(-1)) {
      timers.pop();
      time = next.at;
      next.then();
    }
    time = us;
  };
  return { now: () => time, after, thread, runUntil, used: () => usedInAll };
}
