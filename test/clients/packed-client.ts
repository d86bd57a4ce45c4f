import { execFile } from 'node:child_process';
import { cp, mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const root = join(import.meta.dirname, '..', '..');
const execute = promisify(execFile);

/** The TypeScript client as a shop installs it. */
export interface PackedClient {
  /** A folder with the package in its node_modules. */
  readonly shop: string;
  readonly installed: string;
  readonly files: readonly string[];
}

/** Packs the TypeScript client, and installs the package in a shop below `folder`. */
export async function packTypeScriptClient(folder: string): Promise<PackedClient> {
  const sources = join(folder, 'sources');
  await cp(join(root, 'clients/typescript'), sources, { recursive: true });
  await symlink(join(root, 'node_modules'), join(sources, 'node_modules'));
  const packed = await execute('npm', ['pack', '--json', '--pack-destination', folder], { cwd: sources });
  const [tarball] = JSON.parse(packed.stdout.slice(packed.stdout.indexOf('['))) as [
    { filename: string; files: readonly { path: string }[] },
  ];
  const shop = join(folder, 'shop');
  const installed = join(shop, 'node_modules/gatehouse-client');
  await mkdir(installed, { recursive: true });
  await execute('tar', ['-xf', join(folder, tarball.filename), '-C', installed, '--strip-components=1']);
  return { shop, installed, files: tarball.files.map(({ path }) => path) };
}
