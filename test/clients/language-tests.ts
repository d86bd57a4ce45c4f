import { execFile, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { findClientLibraries } from '../../scripts/client-libraries.mjs';
import { missingForPhp, missingForWordPress } from '../../scripts/php.mjs';
import type { ClientSite } from './client-site.ts';
import { startWordPress } from './wordpress-site.ts';

interface Ended {
  readonly code: number;
  readonly output: string;
}

/** The tests of a client in its own language. */
export interface LanguageTests {
  readonly folder: string;
  readonly client: string;
  /** The reason why they cannot run here; undefined when they can. */
  readonly missing: string | undefined;
  /** Each must end with code 0. */
  readonly commands: readonly (readonly [program: string, ...args: string[]])[];
  /** The number of passed tests, from the output of the last command. */
  readonly countPassed: (output: string) => number;
  readonly atLeast: number;
  /** Starts what they need besides. The settings are for their environment. */
  readonly start?: (plugin: string) => Promise<{
    readonly settings: Readonly<Record<string, string>>;
    readonly stop: () => Promise<void>;
  }>;
}

const clients = join(import.meta.dirname, '..', '..', 'clients');
const python = findClientLibraries('Python client');
const inPython = (program: string): string => join(python ?? '', 'bin', program);

/** The oldest Go that the client promises, from Go's module proxy. Without the proxy, the tests run with the installed Go. */
const oldestToolchain = { ...process.env, GOTOOLCHAIN: 'go1.22.12' };
const hasOldestGo = spawnSync('go', ['version'], { env: oldestToolchain, timeout: 120_000 }).status === 0;
const oldestGo = hasOldestGo ? [`GOTOOLCHAIN=${oldestToolchain.GOTOOLCHAIN}`] : [];

export const languageTests: readonly LanguageTests[] = [
  {
    folder: 'python',
    client: 'the client in Python',
    missing: python === undefined ? 'npm test could not install its Python packages' : undefined,
    commands: [
      [inPython('mypy'), '--cache-dir', join(python ?? '', 'mypy-cache')],
      [inPython('pytest'), '-q'],
    ],
    countPassed: (output) => Number(/([0-9]+) passed in/.exec(output)?.[1]),
    atLeast: 15,
  },
  {
    folder: 'go',
    client: 'the client in Go',
    missing: spawnSync('go', ['version']).status === 0 ? undefined : 'Go is not installed',
    commands: [
      ['sh', '-c', 'unformatted=$(gofmt -l .) && echo "$unformatted" && test -z "$unformatted"'],
      // With vet, so that the libraries are compiled once, for one version of Go.
      ['env', ...oldestGo, 'go', 'test', '-count=1', '-v', '-vet=all', './...'],
    ],
    countPassed: (output) => output.match(/^--- PASS/gm)?.length ?? 0,
    atLeast: 10,
  },
  {
    folder: 'php',
    client: 'the client in PHP',
    missing: missingForPhp(),
    commands: [
      ['sh', '-c', 'find src tests -name "*.php" -print0 | xargs -0 -n 1 -P 2 php -l >/dev/null'],
      ['composer', 'validate', '--strict', '--no-interaction'],
      ['phpunit'],
    ],
    countPassed: (output) => Number(/^OK \(([0-9]+) tests,/m.exec(output)?.[1]),
    atLeast: 25,
  },
  {
    folder: 'woocommerce',
    client: 'the plugin for WooCommerce',
    missing: missingForPhp(),
    commands: [
      ['sh', '-c', 'find . -name "*.php" -print0 | xargs -0 -n 1 -P 2 php -l >/dev/null'],
      ['phpunit'],
    ],
    countPassed: (output) => Number(/^OK \(([0-9]+) tests,/m.exec(output)?.[1]),
    atLeast: 15,
  },
  {
    folder: 'woocommerce',
    client: 'the plugin for WooCommerce, in a real WordPress,',
    missing: missingForWordPress(),
    start: startWordPress,
    commands: [['phpunit', '-c', 'phpunit-wordpress.xml']],
    countPassed: (output) => Number(/^OK \(([0-9]+) tests,/m.exec(output)?.[1]),
    atLeast: 15,
  },
];

/**
 * Runs the tests of a client at a site, and resolves to the output. @throws Error with the output when one fails
 *
 * @param plugin the folder of the plugin for WooCommerce, as it is built
 */
export async function runLanguageTests(
  tests: LanguageTests,
  site: ClientSite,
  plugin: string,
): Promise<string> {
  const started = await tests.start?.(plugin);
  const env = {
    ...process.env,
    GATEHOUSE_TEST_SITE: JSON.stringify(site),
    GATEHOUSE_TEST_PLUGIN: plugin,
    PYTHONDONTWRITEBYTECODE: '1',
    ...started?.settings,
  };
  const run = ([program, ...args]: readonly [string, ...string[]]): Promise<Ended> =>
    new Promise((resolve) => {
      const options = { cwd: join(clients, tests.folder), env, maxBuffer: 16 * 1024 * 1024 };
      const child = execFile(program, args, options, (error, stdout, stderr) =>
        resolve({ code: child.exitCode ?? 1, output: `${stdout}${stderr}${error?.message ?? ''}` }),
      );
    });
  let ended: readonly Ended[];
  try {
    ended = await Promise.all(tests.commands.map(run));
  } finally {
    await started?.stop();
  }
  const failed = ended.filter(({ code }) => code !== 0);
  if (failed.length > 0) throw new Error(failed.map(({ output }) => output).join('\n'));
  return ended.at(-1)?.output ?? '';
}
