import { spawnSync } from 'node:child_process';
import { statfs } from 'node:fs/promises';
import { systemPath } from '../local/system-path.ts';

/** A file system of its own, in memory, whose size this process controls. */
export interface SmallDisk {
  /** From now on, nothing more fits on it. */
  readonly fill: () => Promise<void>;
  /** There is room again. */
  readonly makeRoom: () => void;
  readonly unmount: () => void;
}

/** The size of the disk, which is enough for a campaign. Only written data takes memory. */
const roomMb = 2_048;

const runProgram = (command: string, args: readonly string[]): string | undefined => {
  const { status, stderr, error } = spawnSync(command, args, {
    encoding: 'utf8',
    env: { PATH: systemPath(process.env['PATH']), LC_ALL: 'C' },
  });
  return status === 0 ? undefined : (error?.message ?? stderr.trim());
};

/** Mounts one at an empty folder. Returns why that is impossible, if it is: it needs root and the right to mount. */
export function mountSmallDisk(folder: string): SmallDisk | { readonly problem: string } {
  if (process.getuid?.() !== 0) return { problem: 'mounting a small disk needs root' };
  const problem = runProgram('mount', [
    '-t',
    'tmpfs',
    '-o',
    `size=${roomMb}m,mode=0711`,
    'gatehouse-prove',
    folder,
  ]);
  if (problem !== undefined) return { problem: `a small disk cannot be mounted: ${problem}` };
  const resize = (size: string): string | undefined =>
    runProgram('mount', ['-o', `remount,size=${size}`, folder]);
  return {
    fill: async () => {
      // Size 0 would mean no limit. If a process writes between the two calls, the new size is too small for the data, so the size is tried again.
      for (let attempt = 0; attempt < 20; attempt += 1) {
        const { blocks, bfree, bsize } = await statfs(folder);
        if (resize(String(Math.max(1, blocks - bfree) * bsize)) === undefined) return;
      }
      throw new Error(`${folder} could not be filled`);
    },
    makeRoom: () => {
      const failure = resize(`${roomMb}m`);
      if (failure !== undefined) throw new Error(`${folder} could not be enlarged: ${failure}`);
    },
    unmount: () => void runProgram('umount', ['--lazy', folder]),
  };
}
