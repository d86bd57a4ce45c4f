import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import type { SourceMapPayload } from 'node:module';

/**
 * A position in a module, such as `file:///srv/programs/core.mjs:12:5`. A stack contains the message, which may quote a text from outside.
 * So a match is a valid URL of a local file, and the search is linear, because `:` ends a path.
 */
const modulePosition = /(file:\/\/\/[^\s():]+\.mjs):(\d+):(\d+)/g;

/** The number of positions that are kept, of some 200 bytes each. The stack traces of a process have far fewer. */
const maxPositions = 2_000;

/** How long maps are kept. One failure often writes many traces, but a map needs up to 20 MB. */
const keepMapsMs = 10_000;

/** The number of maps that are kept. A process has fewer modules, but a text from outside can name any file. */
const maxMaps = 200;

/**
 * A stack trace whose positions in bundled programs are those of the sources (docs/adr/0059). Only a trace that is written needs them, so
 * Node runs without `--enable-source-maps`, which keeps each map for ever. Reading a map that is not kept takes up to 50 ms.
 * Positions of other modules stay as they are.
 */
export const sourcePositions = (stack: string): string => stack.replace(modulePosition, sourcePosition);

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
