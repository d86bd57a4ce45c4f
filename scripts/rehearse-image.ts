/**
 * Executes the steps of the Dockerfile without a container engine: in folders that debootstrap fills with Debian, by chroot, as the
 * steps' own users. Then it runs the image's processes with a read-only file system. It needs root on Debian with debootstrap, and
 * a minute or two: npm run rehearse:image -- [folder]
 */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const folder = process.argv[2] ?? mkdtempSync(join(tmpdir(), 'gatehouse-image-'));
const base = join(folder, 'debian');
const extraAuthorities = '/etc/extra-authorities.pem';

function run(program: string, args: readonly string[], expected = 0): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    encoding: 'utf8',
    env: environment(),
  });
  if (error !== undefined)
    throw new Error(
      `${program} did not start. This rehearsal needs root on Debian, npm, and: apt-get install debootstrap`,
      { cause: error },
    );
  if (status === expected) return stdout;
  throw new Error(`${program} ${args.join(' ')} exited with ${status}, not ${expected}:\n${stdout}${stderr}`);
}

/** The environment of this process, without the settings of Gatehouse. */
const environment = () =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(GATEHOUSE_|npm_|NODE_)/.test(name)));

/** Adds the parts of the base image to Debian: Node, npm and the user `node`. */
function makeBase(): void {
  if (!existsSync(join(base, 'usr/bin/dpkg'))) {
    console.log('debootstrap: Debian bookworm');
    run('debootstrap', ['--variant=minbase', 'bookworm', base]);
  }
  cpSync(join(root, 'node_modules/node/bin/node'), join(base, 'usr/local/bin/node'));
  const npm = resolve(realpathSync(run('sh', ['-c', 'command -v npm']).trim()), '../..');
  cpSync(npm, join(base, 'usr/local/lib/node_modules/npm'), { recursive: true, dereference: true });
  run('chroot', [base, 'sh', '-c', 'ln -sf ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm']);
  run('chroot', [base, 'sh', '-c', 'id node > /dev/null 2>&1 || useradd --uid 1000 --create-home node']);
  // A registry may have a certificate of a private authority.
  const authorities = process.env['NODE_EXTRA_CA_CERTS'];
  if (authorities !== undefined) cpSync(authorities, join(base, extraAuthorities));
  cpSync('/etc/resolv.conf', join(base, 'etc/resolv.conf'), { dereference: true });
}

/** A build context: the files that .dockerignore lets through. */
function makeContext(): string {
  const context = join(folder, 'context');
  rmSync(context, { recursive: true, force: true });
  for (const line of readFileSync(join(root, '.dockerignore'), 'utf8').split('\n'))
    if (line.startsWith('!'))
      cpSync(join(root, line.slice(1)), join(context, line.slice(1)), { recursive: true });
  return context;
}

interface Step {
  readonly instruction: string;
  readonly rest: string;
}

function readSteps(): readonly Step[] {
  const text = readFileSync(join(root, 'Dockerfile'), 'utf8');
  const lines = text
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n/g, '')
    .split('\n');
  return lines
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [, instruction = '', rest = ''] = /^(\w+) +(.*)$/.exec(line) ?? [];
      return { instruction, rest };
    });
}

/** A command in the image, by its user and with its environment. */
interface Image {
  readonly folder: string;
  workdir: string;
  user: string;
  readonly env: Record<string, string>;
}

const within = (image: Image, command: string, env: Record<string, string> = {}): readonly string[] => {
  const variables = Object.entries({ ...image.env, ...env }).map(([name, value]) => `${name}=${value}`);
  const path = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
  const start = ['env', '-i', path, ...variables, 'sh', '-c', `cd ${image.workdir} && ${command}`];
  return [`--userspec=${image.user}`, image.folder, ...start];
};

const npmEnvironment = {
  npm_config_registry: run('npm', ['config', 'get', 'registry']).trim(),
  ...(process.env['NODE_EXTRA_CA_CERTS'] === undefined ? {} : { NODE_EXTRA_CA_CERTS: extraAuthorities }),
};

function build(): Image {
  const context = makeContext();
  const stages = new Map<string, Image>();
  let image: Image | undefined;
  for (const { instruction, rest } of readSteps()) {
    console.log(`${instruction} ${rest.slice(0, 100)}`);
    if (instruction === 'FROM') {
      const name = / AS (\w+)$/.exec(rest)?.[1] ?? 'image';
      image = { folder: join(folder, name), workdir: '/', user: 'root', env: {} };
      stages.set(name, image);
      rmSync(image.folder, { recursive: true, force: true });
      run('cp', ['-a', base, image.folder]);
      continue;
    }
    if (image === undefined) throw new Error('the first instruction must be FROM');
    if (instruction === 'WORKDIR') {
      image.workdir = rest;
      mkdirSync(join(image.folder, rest), { recursive: true });
    } else if (instruction === 'ENV')
      for (const [, name = '', value = ''] of rest.matchAll(/(\w+)=(\S+)/g)) image.env[name] = value;
    else if (instruction === 'USER') image.user = rest;
    else if (instruction === 'COPY') {
      const [, stage, words = ''] = /^(?:--from=(\w+) )?(.*)$/.exec(rest) ?? [];
      const names = words.split(' ');
      const to = names.pop() ?? '';
      for (const name of names) {
        const from = stage === undefined ? join(context, name) : join(stages.get(stage)?.folder ?? '', name);
        const target = resolve(image.workdir, to, to.endsWith('/') ? basename(name) : '');
        mkdirSync(dirname(join(image.folder, target)), { recursive: true });
        run('cp', ['-a', '--no-preserve=ownership', from, join(image.folder, target)]);
      }
    } else if (instruction === 'RUN') run('chroot', within(image, rest, npmEnvironment));
  }
  if (image === undefined) throw new Error('the Dockerfile has no stage');
  return image;
}

/** The same command with the image read-only, as docker-compose.yml runs it, and folders that are mounted. */
function runReadOnly(
  image: Image,
  command: string,
  expected: number,
  env: Record<string, string> = {},
): string {
  const mounts = ['mount --bind "$1" "$1"', 'mount -o remount,bind,ro "$1"', 'mount -t tmpfs tmpfs "$1/tmp"'];
  // A volume takes its owner from the folder of the image.
  const volume = 'mount -t tmpfs -o uid=1000,mode=755 tmpfs "$1/run/gatehouse"';
  const script = [...mounts, volume, 'shift', 'exec chroot "$@"'].join(' && ');
  return run(
    'unshare',
    ['--mount', 'sh', '-c', script, 'sh', image.folder, ...within(image, command, env)],
    expected,
  );
}

makeBase();
const image = build();
console.log(`the user: ${runReadOnly(image, 'id', 0).trim()}`);
runReadOnly(image, 'touch /app/file', 1);
console.log('the image cannot be written to');
runReadOnly(image, 'scripts/run-process core 2> /dev/null', 2);
console.log('core loads, and reports missing settings');
const made = 'scripts/run-process make-secrets && ls -l /run/gatehouse/core';
console.log(runReadOnly(image, made, 0, { GATEHOUSE_SECRETS_FOLDER: '/run/gatehouse' }).trim());
console.log(runReadOnly(image, 'node scripts/healthcheck.mjs 2>&1', 1).trim());
console.log(runReadOnly(image, 'gatehouse --help', 0).split('\n')[0]);
console.log(`the image in ${image.folder}: ${run('du', ['-sh', image.folder]).split('\t')[0]}`);
