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

const root = fileURLToPath(new URL('..', import.meta.url));
const lists = join(root, 'test/integration/wallet-simulator/client-libraries');
const listOf: Readonly<Record<Language, string>> = {
  Node: 'package-lock.json',
  Python: 'requirements.txt',
};

/** A changed list has a new folder. */
function folderOf(language: Language): string {
  const hash = createHash('sha256').update(readFileSync(join(lists, listOf[language])));
  const name = `${language.toLowerCase()}-${hash.digest('hex').slice(0, 16)}`;
  return join(root, 'node_modules/.cache/client-libraries', name);
}

/** Written last, so that an interrupted installation never counts. */
const completeMark = (folder: string): string => join(folder, 'complete');

/** The folder with the libraries of a language; undefined when `npm test` could not install them. */
export function findClientLibraries(language: Language): string | undefined {
  const folder = folderOf(language);
  return existsSync(completeMark(folder)) ? folder : undefined;
}

/** Runs a command, and returns the end of its output if it fails. */
function fails(command: string, args: readonly string[], cwd: string): string | undefined {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  if (status === 0) return undefined;
  return (error?.message ?? `${stdout}${stderr}`).trim().split('\n').slice(-5).join('\n');
}

const installers: Readonly<Record<Language, (folder: string) => string | undefined>> = {
  Node: (folder) => {
    for (const name of ['package.json', 'package-lock.json']) {
      copyFileSync(join(lists, name), join(folder, name));
    }
    return fails('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], folder);
  },
  Python: (folder) => {
    const createEnvironment = () => fails('python3', ['-m', 'venv', folder], root);
    let failure = createEnvironment();
    if (failure !== undefined && canInstallPackages()) {
      installPackages(['python3-venv']);
      failure = createEnvironment();
    }
    const list = join(lists, listOf.Python);
    const install = ['install', '--quiet', '--disable-pip-version-check', '--no-deps', '-r', list];
    return failure ?? fails(join(folder, 'bin/pip'), install, root);
  },
};

/**
 * Installs what is absent. A failure is reported and stops nothing: the tests of these libraries are then skipped, each with
 * its name.
 */
export function installClientLibraries(report: (line: string) => void): void {
  for (const language of ['Node', 'Python'] as const) {
    if (findClientLibraries(language) !== undefined) continue;
    report(`Installing the ${language} clients of the simulated wallets (once)`);
    const folder = folderOf(language);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    const failure = installers[language](folder);
    if (failure === undefined) writeFileSync(completeMark(folder), '');
    else report(`They could not be installed, so these clients are not tested:\n${failure}`);
  }
}
