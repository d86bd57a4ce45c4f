import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Plugin } from 'esbuild';
import type { ProcessEnvironment } from '../../platform/settings/read-settings.ts';

/**
 * The programs, each in `src/main/<name>.ts`. Those of a group share files. A file has the modules that the same programs of its group use,
 * so a smaller group needs fewer files: core 38 instead of 86.
 */
const groups = [
  ['core', 'rest-facade', 'checkout', 'dashboard', 'wallets', 'webhooks'],
  ['wallet-simulator', 'migrate', 'make-secrets', 'first-start', 'cli', 'local/stop-with-parent'],
];

export const programs = groups.flat();

/** The bundled program in the folder. */
export const bundledProgram = (folder: string, name: string): string => join(folder, `${name}.mjs`);

/** The sources of the bundled programs in a folder. */
interface Origin {
  readonly projectRoot: string;
  readonly node: string;
  /** The time of the last change of each file, by its path. It also changes when another file takes its place. */
  readonly changedAtMs: Readonly<Record<string, number>>;
}

const originFile = (folder: string): string => join(folder, 'origin.json');

async function readOrigin(projectRoot: string, paths: readonly string[]): Promise<Origin> {
  const changedAtMs = await Promise.all(
    paths.map(async (path) => [path, (await stat(resolve(projectRoot, path))).ctimeMs] as const),
  );
  return { projectRoot, node: process.version, changedAtMs: Object.fromEntries(changedAtMs) };
}

/** Whether the folder has the programs of these sources. An interrupted bundler leaves a folder without an origin. */
async function isCurrent(projectRoot: string, folder: string): Promise<boolean> {
  try {
    const written = await readFile(originFile(folder), 'utf8');
    const { changedAtMs } = JSON.parse(written) as Origin;
    return JSON.stringify(await readOrigin(projectRoot, Object.keys(changedAtMs))) === written;
  } catch {
    return false;
  }
}

/**
 * Bundles each program with its packages into `folder`. A bundled program starts in half of the time and uses less memory. Node keeps a
 * record of each module, and core has 1,700 modules (docs/adr/0059). It reads templates and other files from the project's folder.
 */
export async function bundlePrograms(projectRoot: string, folder: string): Promise<void> {
  const beganAtMs = Date.now();
  // Imported here, so that code that only needs the name of a bundled program does not load esbuild. esbuild starts a process of some 500 MB.
  const esbuild = await import('esbuild');
  try {
    const bundle = async (group: readonly string[]): Promise<readonly string[]> => {
      const { metafile } = await esbuild.build({
        metafile: true,
        absWorkingDir: projectRoot,
        entryPoints: group.map((name) => ({ in: `src/main/${name}.ts`, out: name })),
        outdir: folder,
        outExtension: { '.js': '.mjs' },
        bundle: true,
        // Less text to read, and to keep in memory. Names stay, for stack traces. Node prints the line of an error, so lines are short.
        minifySyntax: true,
        minifyWhitespace: true,
        lineLimit: 200,
        // Code of several programs, and what a program loads later, goes to files of its own.
        splitting: true,
        format: 'esm',
        platform: 'node',
        target: `node${process.versions.node}`,
        // CommonJS files of some packages cannot be bundled, so their modules come first.
        mainFields: ['module', 'main'],
        sourcemap: 'linked',
        sourcesContent: false,
        legalComments: 'none',
        logLevel: 'silent',
        plugins: [ownPaths, nativePackages(projectRoot)],
        // Bundled CommonJS code calls it for Node's own modules.
        banner: {
          js: "import { createRequire as requireFor } from 'node:module'; const require = requireFor(import.meta.url);",
        },
      });
      return Object.keys(metafile.inputs);
    };
    const inputs = new Set<string>();
    for (const group of groups) for (const input of await bundle(group)) inputs.add(input);
    const origin = await readOrigin(projectRoot, ['package-lock.json', ...inputs]);
    // A file that has changed since may have been read before.
    if (Object.values(origin.changedAtMs).every((changedAtMs) => changedAtMs < beganAtMs))
      await writeFile(originFile(folder), JSON.stringify(origin));
  } finally {
    await esbuild.stop();
  }
}

/**
 * The folder of the bundled programs: that of the image, or `folder`, which is replaced if a source has changed. Undefined if they cannot be
 * bundled, after a call of `onFailure` with the reason: the sources can still run.
 */
export async function findPrograms(
  { GATEHOUSE_PROGRAMS: ofImage }: ProcessEnvironment,
  projectRoot: string,
  folder: string,
  onFailure: (reason: string) => void,
): Promise<string | undefined> {
  if (ofImage) return ofImage;
  if (await isCurrent(projectRoot, folder)) return folder;
  try {
    await rm(folder, { recursive: true, force: true });
    await bundlePrograms(projectRoot, folder);
    return folder;
  } catch (error) {
    onFailure(error instanceof Error ? error.message : String(error));
    return undefined;
  }
}

/** Sources find neighbouring files and packages by their own path. In a bundle, the path would be that of the bundle. */
const ownPaths: Plugin = {
  name: 'own-paths',
  setup(bundler) {
    bundler.onLoad({ filter: /\/src\/.*\.ts$/ }, async ({ path }) => {
      // This file contains these names in a regular expression.
      if (path.endsWith('/bundle-programs.ts')) return undefined;
      const text = await readFile(path, 'utf8');
      const own = { dirname: dirname(path), url: pathToFileURL(path).href };
      const contents = text.replace(/\bimport\.meta\.(dirname|url)\b/g, (_, name: keyof typeof own) =>
        JSON.stringify(own[name]),
      );
      return { contents, loader: 'ts' };
    });
  },
};

/** Machine code cannot be bundled. */
const nativePackages = (projectRoot: string): Plugin => ({
  name: 'native-packages',
  setup(bundler) {
    const packages = createRequire(join(projectRoot, 'package.json'));
    bundler.onResolve({ filter: /^@node-rs\// }, ({ path }) => ({
      path: pathToFileURL(packages.resolve(path)).href,
      external: true,
    }));
  },
});
