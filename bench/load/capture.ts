import { spawn } from 'node:child_process';

/** The complete output of a program. @throws when the program fails */
export function capture(
  program: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      env: { PATH: process.env['PATH'], ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve(output);
      else reject(new Error(`${program} ended with ${code}:\n${output}`));
    });
  });
}

export interface TimedOutput {
  readonly output: string;
  /** CPU time of the program itself, user and system. */
  readonly cpuSeconds: number;
}

/** The output, and the CPU time that the program used. @throws when the program fails */
export async function captureTimed(
  program: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<TimedOutput> {
  // bash's own `time` reports the CPU time of a finished child.
  const script = 'TIMEFORMAT="CPU %U %S"; time "$@"';
  const output = await capture('bash', ['-c', script, 'time', program, ...args], environment);
  const [, user = '0', system = '0'] = /^CPU ([0-9.]+) ([0-9.]+)$/m.exec(output) ?? [];
  return { output, cpuSeconds: Number(user) + Number(system) };
}
