import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { canInstallPackages, installPackages } from './apt-get.ts';

/**
 * The client libraries of others, which the tests run against the simulated wallets. Each language has a folder of its own
 * below node_modules/.cache, so that old dependencies of these libraries are no dependencies of Gatehouse.
 */
export type Language = 'Node' | 'Python';

/** What is installed together: those libraries, and what the tests of Gatehouse's own client for Python need. */
export type PackageSet = Language | 'Python client';

const root = fileURLToPath(new URL('..', import.meta.url));
const lists = join(root, 'test/integration/wallet-simulator/client-libraries');
const listOf: Readonly<Record<PackageSet, string>> = {
  Node: join(lists, 'package-lock.json'),
  Python: join(lists, 'requirements.txt'),
  'Python client': join(root, 'clients/python/requirements-test.txt'),
};

/** A changed list has a new folder. */
function folderOf(set: PackageSet): string {
  const hash = createHash('sha256').update(readFileSync(listOf[set]));
  const name = `${set.toLowerCase().replace(' ', '-')}-${hash.digest('hex').slice(0, 16)}`;
  return join(root, 'node_modules/.cache/client-libraries', name);
}

/** Written last, so that an interrupted installation never counts. */
const completeMark = (folder: string): string => join(folder, 'complete');

/** The folder with a set of packages; undefined when `npm test` could not install them. */
export function findClientLibraries(set: PackageSet): string | undefined {
  const folder = folderOf(set);
  return existsSync(completeMark(folder)) ? folder : undefined;
}

/** Runs a command, and returns the end of its output if it fails. */
function fails(command: string, args: readonly string[], cwd: string): string | undefined {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  if (status === 0) return undefined;
  return (error?.message ?? `${stdout}${stderr}`).trim().split('\n').slice(-5).join('\n');
}

const installPython =
  (list: string) =>
  (folder: string): string | undefined => {
    const createEnvironment = () => fails('python3', ['-m', 'venv', folder], root);
    let failure = createEnvironment();
    if (failure !== undefined && canInstallPackages()) {
      installPackages(['python3-venv']);
      failure = createEnvironment();
    }
    const install = ['install', '--quiet', '--disable-pip-version-check', '--no-deps', '-r', list];
    return failure ?? fails(join(folder, 'bin/pip'), install, root);
  };

const installers: Readonly<Record<PackageSet, (folder: string) => string | undefined>> = {
  Node: (folder) => {
    for (const name of ['package.json', 'package-lock.json']) {
      copyFileSync(join(lists, name), join(folder, name));
    }
    return fails('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], folder);
  },
  Python: installPython(listOf.Python),
  'Python client': installPython(listOf['Python client']),
};

const purposes: Readonly<Record<PackageSet, string>> = {
  Node: 'the Node clients of the simulated wallets',
  Python: 'the Python clients of the simulated wallets',
  'Python client': 'what the tests of the client for Python need',
};

/**
 * Installs what is absent. A failure is reported and stops nothing: the tests that need the packages are then skipped, each
 * with its name.
 */
export function installClientLibraries(report: (line: string) => void): void {
  for (const set of ['Node', 'Python', 'Python client'] as const) {
    if (findClientLibraries(set) !== undefined) continue;
    report(`Installing ${purposes[set]} (once)`);
    const folder = folderOf(set);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    const failure = installers[set](folder);
    if (failure === undefined) writeFileSync(completeMark(folder), '');
    else report(`They could not be installed, so the tests that need them are skipped:\n${failure}`);
  }
}
