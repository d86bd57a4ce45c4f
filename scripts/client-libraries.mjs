// Runs on the user's Node (20 or newer) while npm installs Gatehouse's own packages, so it uses Node's own modules only.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { canInstallPackages, installPackages } from './apt-get.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const lists = join(root, 'test/integration/wallet-simulator/client-libraries');

/** Runs a command, and returns the end of its output if it fails. */
const fails = (command, args, cwd) =>
  new Promise((resolve) => {
    execFile(command, args, { cwd, maxBuffer: Infinity }, (error, stdout, stderr) => {
      const output = `${stdout}${stderr}`.trim() || error?.message;
      resolve(error === null ? undefined : output.split('\n').slice(-5).join('\n'));
    });
  });

const folderOfAll = join(root, '.gatehouse-client-libraries');
/** A pip for all sets, because its installation takes longer than that of most packages. */
const pipFolder = join(folderOfAll, 'pip');

/** It reads the lists of all versions of a package in half of the time that those of Python 3.11 need. */
const quickPip = 'pip==26.3';
// The tests import a part of the packages only, so Python compiles them then.
const pipOptions = ['--quiet', '--disable-pip-version-check', '--no-deps', '--no-compile'];

/** With the pip of the user's Python. Python's own way compiles all files of pip first, of which few are used here. */
const installQuickPip = async () =>
  (await fails('python3', ['-m', 'venv', '--without-pip', pipFolder], root)) ??
  fails(
    'python3',
    ['-m', 'pip', '--python', join(pipFolder, 'bin/python'), 'install', ...pipOptions, quickPip],
    root,
  );

async function installPip() {
  if (existsSync(join(pipFolder, 'bin/pip')) || (await installQuickPip()) === undefined) return undefined;
  const createEnvironment = () => fails('python3', ['-m', 'venv', pipFolder], root);
  const failure = await createEnvironment();
  if (failure === undefined || !canInstallPackages()) return failure;
  await installPackages(['python3-venv']);
  return createEnvironment();
}

async function installPython(folder, list) {
  const python = join(folder, 'bin/python');
  return (
    (await installPip()) ??
    (await fails('python3', ['-m', 'venv', '--without-pip', folder], root)) ??
    fails(join(pipFolder, 'bin/pip'), ['--python', python, 'install', ...pipOptions, '-r', list], root)
  );
}

function installNode(folder) {
  for (const name of ['package.json', 'package-lock.json'])
    copyFileSync(join(lists, name), join(folder, name));
  return fails('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], folder);
}

const sets = {
  Node: {
    list: join(lists, 'package-lock.json'),
    purpose: 'the Node clients of the simulated wallets',
    install: installNode,
  },
  Python: {
    list: join(lists, 'requirements.txt'),
    purpose: 'the Python clients of the simulated wallets',
    install: installPython,
  },
  'Python client': {
    list: join(root, 'clients/python/requirements-test.txt'),
    purpose: 'the packages that test the client for Python',
    install: installPython,
  },
};

/** A changed list has a new folder. It is not in node_modules, which `npm ci` empties at its start. */
function folderOf(set) {
  const hash = createHash('sha256').update(readFileSync(sets[set].list));
  const name = `${set.toLowerCase().replace(' ', '-')}-${hash.digest('hex').slice(0, 16)}`;
  return join(folderOfAll, name);
}

/** Written last, so that an interrupted installation never counts. */
const completeMark = (folder) => join(folder, 'complete');

export function findClientLibraries(set) {
  const folder = folderOf(set);
  return existsSync(completeMark(folder)) ? folder : undefined;
}

/** Returns why a set could not be installed; undefined when it is there. */
async function installSet(set) {
  const { list, purpose, install } = sets[set];
  const folder = folderOf(set);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const failure = await install(folder, list);
  if (failure !== undefined)
    return `Not installed: ${purpose}, so the tests that need them are skipped:\n${failure}`;
  writeFileSync(completeMark(folder), '');
  return undefined;
}

export async function installClientLibraries(report) {
  const absent = Object.keys(sets).filter((set) => findClientLibraries(set) === undefined);
  if (absent.length === 0) return [];
  report(`Installing ${absent.map((set) => sets[set].purpose).join(', ')} (once)`);
  const failures = [];
  for (const set of absent) failures.push(await installSet(set));
  return failures.filter((failure) => failure !== undefined);
}
