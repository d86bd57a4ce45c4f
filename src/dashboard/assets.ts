import { join } from 'node:path';
import { createRequire } from 'node:module';
import { readAsset } from '../platform/http/assets.ts';
import type { Asset } from '../platform/http/assets.ts';

const ownAsset = (name: string): string => join(import.meta.dirname, 'assets', name);
const packaged = createRequire(import.meta.url).resolve;

/** The pages' files, by purpose. */
export interface Assets {
  readonly style: Asset;
  readonly script: Asset;
  readonly icon: Asset;
  /** Draws a table as a chart, with the library and its style. */
  readonly chart: Asset;
  readonly chartLibrary: Asset;
  readonly chartStyle: Asset;
  /** Updates the page of a payment link. */
  readonly live: Asset;
}

export async function readAssets(): Promise<Assets> {
  const [style, script, icon, chart, chartLibrary, chartStyle, live] = await Promise.all([
    readAsset(ownAsset('dashboard.css')),
    readAsset(ownAsset('dashboard.js')),
    readAsset(ownAsset('icon.svg')),
    readAsset(ownAsset('chart.js')),
    readAsset(packaged('uplot/dist/uPlot.iife.min.js')),
    readAsset(packaged('uplot/dist/uPlot.min.css')),
    readAsset(ownAsset('live.js')),
  ]);
  return { style, script, icon, chart, chartLibrary, chartStyle, live };
}
