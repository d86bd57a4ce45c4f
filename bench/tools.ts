import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { systemPath } from '../src/main/local/system-path.ts';

interface Tool {
  readonly program: string;
  readonly debianPackage: string;
  readonly purpose: string;
}

/**
 * The programs that the benchmark needs from the system. npm installs everything else, or it is started as `npm start`
 * does.
 */
const tools: readonly Tool[] = [
  { program: 'wrk', debianPackage: 'wrk', purpose: 'loads what speaks HTTP' },
  { program: 'pgbench', debianPackage: 'postgresql', purpose: "PostgreSQL's own load generator" },
];

function isThere(program: string): boolean {
  return systemPath(process.env['PATH'])
    .split(delimiter)
    .some((folder) => {
      try {
        accessSync(join(folder, program), constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

const aptGet = (packages: readonly string[]): string =>
  `apt-get install --yes --no-install-recommends ${packages.join(' ')}`;

/** The missing programs, and how to install them; undefined when none is missing. */
export function missingTools(): string | undefined {
  const missing = tools.filter(({ program }) => !isThere(program));
  if (missing.length === 0) return undefined;
  const packages = missing.map(({ debianPackage }) => debianPackage);
  return [
    'The benchmark needs what is not on this machine:',
    ...missing.map(({ program, purpose }) => `  ${program} (${purpose})`),
    'As root, on Debian or Ubuntu:',
    `  apt-get update && RUNLEVEL=1 ${aptGet(packages)}`,
    'or the same by: npm run bench -- --install',
    // pgbench is in the server's package, which would start its own server. RUNLEVEL=1 makes invoke-rc.d start none.
  ].join('\n');
}

/** Installs missing programs with apt-get. @throws when that is not possible, with what to do */
export function installMissingTools(): void {
  const explained = missingTools();
  if (explained === undefined) return;
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) throw new Error(explained);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  const packages = tools.filter(({ program }) => !isThere(program)).map(({ debianPackage }) => debianPackage);
  for (const command of ['apt-get -qq update', aptGet(packages)]) {
    const [program = '', ...args] = command.split(' ');
    spawnSync(program, args, { env, stdio: ['ignore', 'inherit', 'inherit'] });
  }
  const stillMissing = missingTools();
  if (stillMissing !== undefined) throw new Error(stillMissing);
}
