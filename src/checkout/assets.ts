import { join } from 'node:path';
import { readAsset } from '../platform/http/assets.ts';
import type { Asset } from '../platform/http/assets.ts';

export interface Assets {
  readonly style: Asset;
  readonly script: Asset;
  readonly icon: Asset;
}

/** Reads the pages' few files. */
export async function readAssets(): Promise<Assets> {
  const read = (name: string): Promise<Asset> => readAsset(join(import.meta.dirname, 'assets', name));
  const [style, script, icon] = await Promise.all([
    read('checkout.css'),
    read('checkout.js'),
    read('icon.svg'),
  ]);
  return { style, script, icon };
}
