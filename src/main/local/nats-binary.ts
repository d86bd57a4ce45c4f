import { spawn } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { StartError } from './start-error.ts';
import { systemPath } from './system-path.ts';

const program = 'nats-server';

const howToGetOne = [
  `Gatehouse needs ${program} (NATS with JetStream), which is not installed on this machine. Do one of these:`,
  `  sudo apt-get install ${program}           and start again (then disable its service, if your machine runs one)`,
  `  put the ${program} program on your PATH   from https://nats.io/download`,
  '  GATEHOUSE_NATS_URL=nats://… npm start      with a broker that runs elsewhere',
].join('\n');

function findProgram(): string | undefined {
  for (const folder of systemPath(process.env['PATH']).split(delimiter)) {
    try {
      const path = join(folder, program);
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      continue;
    }
  }
  return undefined;
}

export interface NatsSearch {
  readonly report: (line: string) => void;
  readonly signal: AbortSignal;
}

async function runInstaller(command: string, args: readonly string[], { report, signal }: NatsSearch) {
  const child = spawn(command, args, {
    env: { ...process.env, PATH: systemPath(process.env['PATH']), DEBIAN_FRONTEND: 'noninteractive' },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  // At this signal apt-get stops a download, but lets dpkg finish. So no package is left half-installed.
  const interrupt = () => child.kill('SIGINT');
  signal.addEventListener('abort', interrupt, { once: true });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      for (const line of chunk.toString().split('\n'))
        if (/^(Get|Setting up|Unpacking)/.test(line)) report(`  ${line}`);
    });
  }
  const failure = await new Promise<string | undefined>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, by) => resolve(code === 0 ? undefined : (by ?? `exit code ${code}`)));
  });
  signal.removeEventListener('abort', interrupt);
  signal.throwIfAborted();
  return failure === undefined ? undefined : `${command} ${args.join(' ')} (${failure}):\n${output.trim()}`;
}

/**
 * Finds nats-server on PATH and in system folders that ordinary users' PATH omits. As root on Debian, installs it if it
 * is absent. The service of the package is disabled, because it would be an open broker on port 4222.
 * @returns the program's path
 * @throws StartError that says how to get the program
 */
export async function findOrInstallNatsServer(search: NatsSearch): Promise<string> {
  const found = findProgram();
  if (found !== undefined) return found;
  const isDebian = existsSync('/usr/bin/apt-get');
  if (process.getuid?.() !== 0 || !isDebian) throw new StartError(howToGetOne);
  search.report(`Installing ${program} with apt-get (once)`);
  const install = ['install', '--yes', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=60', program];
  // A fresh machine has no package lists, or outdated ones.
  const failure =
    (await runInstaller('apt-get', ['update'], search)) ?? (await runInstaller('apt-get', install, search));
  const installed = findProgram();
  if (installed === undefined) throw new StartError(`${failure ?? ''}\n\n${howToGetOne}`.trim());
  if (existsSync('/run/systemd/system')) {
    await runInstaller('systemctl', ['disable', '--now', `${program}.service`], search);
  }
  return installed;
}
