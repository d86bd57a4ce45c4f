import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import type { SourceMapPayload } from 'node:module';

/**
 * A position in a module, such as `file:///srv/programs/core.mjs:12:5`. A stack trace begins with the error's message, which may quote any
 * text from outside. So the pattern matches only valid URLs of local files. It excludes `:` from paths, so that the search takes linear
 * time.
 */
const modulePosition = /(file:\/\/\/[^\s():]+\.mjs):(\d+):(\d+)/g;

/** The limit of cached positions, each of some 200 bytes. The stack traces of a process have far fewer. */
const maxPositions = 2_000;

/** How long source maps are cached. A failure often causes many stack traces in a short time, but a map needs up to 20 MB. */
const keepMapsMs = 10_000;

/** The limit of cached source maps. A process has fewer modules, but a text from outside can name any file. */
const maxMaps = 200;

/**
 * Replaces the positions of bundled programs in a stack trace by those of the sources (docs/adr/0059). Other positions stay as they are.
 * Node runs without `--enable-source-maps`, because that option keeps each map in memory for ever, and only logged stack traces need maps.
 * Reading a map that is not cached takes up to 50 ms.
 */
export const withSourcePositions = (stack: string): string => stack.replace(modulePosition, sourcePosition);

const sourceOf = new Map<string, string>();
const maps = new Map<string, SourceMap | undefined>();

function sourcePosition(position: string, moduleUrl: string, line: string, column: string): string {
  const known = sourceOf.get(position);
  if (known !== undefined) return known;
  const source = findSource(moduleUrl, Number(line), Number(column));
  if (source !== undefined && sourceOf.size < maxPositions) sourceOf.set(position, source);
  return source ?? position;
}

function findSource(moduleUrl: string, line: number, column: number): string | undefined {
  const origin = mapOf(moduleUrl)?.findOrigin(line, column);
  if (origin === undefined || !('fileName' in origin)) return undefined;
  return `${new URL(origin.fileName, moduleUrl).href}:${origin.lineNumber}:${origin.columnNumber}`;
}

function mapOf(moduleUrl: string): SourceMap | undefined {
  if (maps.size === 0) setTimeout(() => maps.clear(), keepMapsMs).unref();
  if (!maps.has(moduleUrl) && maps.size < maxMaps) maps.set(moduleUrl, readMap(new URL(`${moduleUrl}.map`)));
  return maps.get(moduleUrl);
}

function readMap(file: URL): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(file, 'utf8')) as SourceMapPayload);
  } catch {
    // There is no map: no bundler wrote the module, or an upgrade has removed the bundle of this process.
    return undefined;
  }
}
