import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import type { FastifyInstance } from 'fastify';

const folder = join(import.meta.dirname, 'assets');

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** A file as it is served. */
interface Asset {
  /** With a hash of the content in its name. */
  readonly path: string;
  readonly type: string;
  readonly content: Buffer;
}

export interface Assets {
  readonly style: Asset;
  readonly script: Asset;
  readonly icon: Asset;
}

/** Reads the pages' few files. */
export async function readAssets(): Promise<Assets> {
  const [style, script, icon] = await Promise.all([
    read('checkout.css'),
    read('checkout.js'),
    read('icon.svg'),
  ]);
  return { style, script, icon };
}

async function read(name: string): Promise<Asset> {
  const content = await readFile(join(folder, name));
  const extension = extname(name);
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 16);
  const path = `/assets/${name.slice(0, -extension.length)}.${hash}${extension}`;
  return { path, type: types[extension] ?? 'application/octet-stream', content };
}

/**
 * Serves the files under names made of their content: a browser may keep each for ever, and never shows a page with the
 * style or the script of another version.
 */
export function serveAssets(app: FastifyInstance, assets: Assets): void {
  for (const { path, type, content } of [assets.style, assets.script, assets.icon]) {
    app.get(path, (_request, reply) =>
      reply.header('cache-control', 'public, max-age=31536000, immutable').type(type).send(content),
    );
  }
}
