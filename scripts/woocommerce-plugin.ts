import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { zipSync } from 'fflate';
import type { Zippable } from 'fflate';

const name = 'gatehouse-for-woocommerce';
const root = fileURLToPath(new URL('..', import.meta.url));
const plugin = join(root, 'clients/woocommerce');
const parts = ['gatehouse-for-woocommerce.php', 'uninstall.php', 'readme.txt', 'LICENSE', 'src', 'assets'];

/**
 * Writes the plugin into a folder, with the PHP client. The client gets a namespace of the plugin, because another plugin
 * of the same site may bring another version of it.
 */
export async function writePlugin(folder: string): Promise<void> {
  for (const part of parts) await cp(join(plugin, part), join(folder, part), { recursive: true });
  const client = join(root, 'clients/php/src');
  const target = join(folder, 'src/Client');
  for (const file of await filesIn(client)) {
    const source = await readFile(join(client, file), 'utf8');
    await mkdir(join(target, file, '..'), { recursive: true });
    const own = source.replaceAll('Gatehouse\\Client', 'Gatehouse\\WooCommerce\\Client');
    await writeFile(join(target, file), own);
  }
  await cp(join(root, 'LICENSE'), join(target, 'LICENSE'));
}

/** The files of a folder and its subfolders, in a fixed order. */
async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();
}

/** A zip with the plugin, the same bytes for the same sources. */
export async function zipPlugin(folder: string): Promise<Uint8Array> {
  const files: Zippable = {};
  for (const file of await filesIn(folder)) files[`${name}/${file}`] = await readFile(join(folder, file));
  return zipSync(files, { level: 9, mtime: new Date(1980, 0, 1) });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const dist = join(plugin, 'dist');
  const folder = join(dist, name);
  await writePlugin(folder);
  await writeFile(`${folder}.zip`, await zipPlugin(folder));
  console.log(`clients/woocommerce/dist/${name}.zip`);
}
