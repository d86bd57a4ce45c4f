import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import type { FastifyInstance } from 'fastify';

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** A file that is served to browsers. */
export interface Asset {
  /** The path. The file name contains a hash of the content. */
  readonly path: string;
  readonly type: string;
  readonly content: Buffer;
}

/** Reads a file of the pages, to be served under `/assets/`. */
export async function readAsset(file: string): Promise<Asset> {
  const content = await readFile(file);
  const extension = extname(file);
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 16);
  const path = `/assets/${basename(file, extension)}.${hash}${extension}`;
  return { path, type: types[extension] ?? 'application/octet-stream', content };
}

/**
 * Serves files under names with a hash of their content. So a browser may cache each file for ever, and never combines a
 * page with the style or script of another version.
 */
export function serveAssets(app: FastifyInstance, assets: readonly Asset[]): void {
  for (const { path, type, content } of assets) {
    app.get(path, (_request, reply) =>
      reply.header('cache-control', 'public, max-age=31536000, immutable').type(type).send(content),
    );
  }
}
