import { spawn } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where package.json is. */
export const ROOT = fileURLToPath(new URL('..', import.meta.url));

const STEP_LIMIT_MS = 45 * 60_000;

/**
 * Runs a program, those of node_modules first, so that no check depends on what a machine happens to have installed.
 * Resolves to the exit code and all it printed; a program that cannot be started counts as exit code 127.
 *
 * @param {readonly string[]} command
 * @returns {Promise<{ code: number, output: string }>}
 */
export function runLocal([program, ...args], { cwd = ROOT } = {}) {
  const path = [join(ROOT, 'node_modules', '.bin'), process.env.PATH].join(delimiter);
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd,
      env: { ...process.env, PATH: path },
      stdio: ['ignore', 'pipe', 'pipe'],
      // The option `timeout` would keep this process alive until then if the program is not installed.
      signal: AbortSignal.timeout(STEP_LIMIT_MS),
    });
    const chunks = [];
    child.stdout.on('data', (chunk) => chunks.push(chunk));
    child.stderr.on('data', (chunk) => chunks.push(chunk));
    child.on('error', (error) => resolve({ code: 127, output: `${program}: ${error.message}\n` }));
    child.on('close', (code, signal) =>
      resolve({
        code: code ?? 1,
        output: Buffer.concat(chunks).toString() + (signal ? `${program}: ended by ${signal}\n` : ''),
      }),
    );
  });
}
