import { join } from 'node:path';
import { readAsset } from '../runtime/http/assets.ts';
import type { Asset } from '../runtime/http/assets.ts';

const files = { style: 'dashboard.css', script: 'dashboard.js', icon: 'icon.svg' } as const;

/** The pages' own files, by what they are for. */
export type Assets = Readonly<Record<keyof typeof files, Asset>>;

export async function readAssets(): Promise<Assets> {
  const read = (name: string): Promise<Asset> => readAsset(join(import.meta.dirname, 'assets', name));
  const [style, script, icon] = await Promise.all([read(files.style), read(files.script), read(files.icon)]);
  return { style, script, icon };
}
