import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { compileCache } from '../../support/servers.ts';
import type { Stack } from '../../support/stack.ts';

/** A program from examples/, run as its first lines say. */
export interface RunningExample {
  /** The printed lines about events. */
  readonly lines: readonly string[];
  /** The printed errors. */
  readonly complaints: readonly string[];
  /** Kills it at once, and resolves when it has exited. It must not need a clean stop. */
  readonly kill: () => Promise<void>;
}

const project = resolve(import.meta.dirname, '../../..');

export function runExample(
  name: string,
  args: readonly string[],
  settings: Readonly<Record<string, string>>,
): RunningExample {
  const child = spawn(process.execPath, [`examples/${name}`, ...args], {
    cwd: project,
    env: { PATH: process.env['PATH'], ...compileCache(), ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  const complaints: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => void lines.push(line));
  createInterface({ input: child.stderr }).on('line', (line) => void complaints.push(line));
  const gone = new Promise<void>((done) => child.once('close', () => done()));
  return {
    lines,
    complaints,
    kill: () => {
      child.kill('SIGKILL');
      return gone;
    },
  };
}

/** A data folder for examples, whose demo.json names a stack as that of `npm start` does. */
export async function createDataFolder(
  { addresses, connectUrl, tokens }: Stack,
  merchant?: { readonly id: string },
): Promise<{ readonly folder: string; readonly close: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-examples-'));
  const demo = { grpc: addresses[0], connect: connectUrl, tokens, merchant };
  await writeFile(join(folder, 'demo.json'), JSON.stringify(demo));
  return { folder, close: () => rm(folder, { recursive: true }) };
}
