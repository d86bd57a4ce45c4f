import { isUtf8 } from 'node:buffer';
import { createScanner } from 'jsonc-parser';
import type { ErrorDetail } from '../merchant-api/error-envelope.ts';
import { maskedLength } from './mask-exchange.ts';

/**
 * The result of reading a request's body. Unreadable: its fields are unknown. Readable: it is an object, but its JSON may
 * still have issues.
 */
export type BodyReading =
  | {
      readonly readable: true;
      /** The known fields. A list or an object is empty here: no field has one, so its content does not matter. */
      readonly object: object;
      /** The beginning of the body as JSON, for the request log. Undefined if `object` is the whole body. */
      readonly excerpt: string | undefined;
      readonly issues: readonly ErrorDetail[];
    }
  | { readonly readable: false; readonly issues: readonly ErrorDetail[] };

/** Deeper than any body of this API, and shallow enough for any JSON library that processes logs or queues. */
export const maxJsonDepth = 16;

/** The token kinds of jsonc-parser's scanner that are used here. Its `const enum` cannot be imported when types are erased. */
const token = { openBrace: 1, closeBrace: 2, openBracket: 3, closeBracket: 4, comma: 5, string: 10, end: 17 };

/** Longer than any valid field, in UTF-16 code units. Only the beginning of a longer text is kept, because it is refused in any case. */
const maxFieldLength = 4_096;

/** The result for a body that is not an object, with the issue. */
export function unreadableBody(issue: string, field = 'body'): BodyReading {
  return { readable: false, issues: [{ field, issue }] };
}

/**
 * Reads a request body as one JSON object (RFC 8259). It must be valid UTF-8 without a byte order mark, with at most 16 levels. No object
 * may have a key twice or the key `__proto__`. An empty body counts as `{}`, so that the answer names the required fields. A duplicate key
 * is reported on its field if `fields` contains it, otherwise on the body.
 *
 * Unknown members, lists, objects and the ends of long texts are dropped, except in a short excerpt. A request may wait for long, and such a
 * body can need twenty times its size in memory.
 */
export function readJsonObject(bytes: Buffer, fields: readonly string[]): BodyReading {
  if (bytes.length === 0) return { readable: true, object: {}, excerpt: undefined, issues: [] };
  if (!isUtf8(bytes)) return unreadableBody('must be UTF-8 text');
  const text = bytes.toString('utf8');
  if (text.startsWith('\ufeff')) return unreadableBody('must not start with a byte order mark');
  const shape = shapeOf(text);
  if (shape.depth > maxJsonDepth)
    return unreadableBody(`must not be nested deeper than ${maxJsonDepth} levels`);
  const parsed = parseJson(text);
  if ('issue' in parsed) return unreadableBody(parsed.issue);
  if (typeof parsed.value !== 'object' || parsed.value === null || Array.isArray(parsed.value)) {
    return unreadableBody('must be a JSON object');
  }
  const body: object = parsed.value;
  const issues = membersIn(body, shape.depth) === shape.members ? [] : structureIssues(text, fields);
  const isWhole = Object.keys(body).every(
    (name) => fields.includes(name) && !isShortened(Reflect.get(body, name)),
  );
  if (isWhole) return { readable: true, object: body, excerpt: undefined, issues };
  return { readable: true, object: pickFields(body, fields), excerpt: excerptOf(body), issues };
}

const isListOrObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

const isLong = (value: unknown): value is string =>
  typeof value === 'string' && value.length > maxFieldLength;

const isShortened = (value: unknown): boolean => isListOrObject(value) || isLong(value);

function shorten(value: unknown): unknown {
  if (isListOrObject(value)) return Array.isArray(value) ? [] : {};
  return isLong(value) ? value.slice(0, maxFieldLength).toWellFormed() : value;
}

function pickFields(body: object, fields: readonly string[]): object {
  const known = fields.filter((name) => Object.hasOwn(body, name));
  return Object.fromEntries(known.map((name) => [name, shorten(Reflect.get(body, name))]));
}

/** The beginning of the body as JSON. */
function excerptOf(body: object): string {
  // A part of a text keeps the whole text in memory, unless it is copied. The additional character shows that the text was cut.
  return Buffer.from(JSON.stringify(body).slice(0, maskedLength + 1)).toString();
}

function parseJson(text: string): { value: unknown } | { issue: string } {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    // The parser's message quotes the body, which may contain sensitive data.
    const cutOff = error instanceof SyntaxError && error.message.includes('Unexpected end');
    return { issue: cutOff ? 'must be valid JSON; it ends too early' : 'must be valid JSON' };
  }
}

const char = {
  quote: 0x22,
  colon: 0x3a,
  openBracket: 0x5b,
  backslash: 0x5c,
  closeBracket: 0x5d,
  openBrace: 0x7b,
  closeBrace: 0x7d,
};

/**
 * The levels and the members of a JSON text, counted by its brackets and colons. They are counted before it is parsed, because bodies that
 * are nested deeply cost the most. Another text has some numbers too.
 */
function shapeOf(text: string): { readonly depth: number; readonly members: number } {
  let [depth, open, members, isInString] = [0, 0, 0, false];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (isInString) {
      if (code === char.backslash) at += 1;
      else if (code === char.quote) isInString = false;
    } else if (code === char.quote) isInString = true;
    else if (code === char.colon) members += 1;
    else if (code === char.openBrace || code === char.openBracket) depth = Math.max(depth, (open += 1));
    else if (code === char.closeBrace || code === char.closeBracket) open -= 1;
  }
  return { depth, members };
}

/**
 * The members of a parsed text with so many levels. It has fewer than the text if `JSON.parse` dropped a duplicate. A key `__proto__` does not
 * count. So almost every body has as many as its text, and needs no second scan.
 */
function membersIn(value: unknown, depth: number): number {
  if (depth === 0 || !isListOrObject(value)) return 0;
  const own = Array.isArray(value)
    ? 0
    : Object.keys(value).length - (Object.hasOwn(value, '__proto__') ? 1 : 0);
  if (depth === 1) return own;
  return Object.values(value).reduce<number>((sum, each) => sum + membersIn(each, depth - 1), own);
}

/**
 * Issues that `JSON.parse` accepts, but that two parsers may read differently. The text was parsed before, so the order of its tokens is
 * valid.
 */
function structureIssues(text: string, fields: readonly string[]): ErrorDetail[] {
  const issues = new Map<string, ErrorDetail>();
  const report = (field: string, issue: string): unknown => issues.set(`${field} ${issue}`, { field, issue });
  const keysOfOpen: (Set<string> | null)[] = [];
  let keyComesNext = false;
  const scanner = createScanner(text, true);
  for (let kind: number = scanner.scan(); kind !== token.end; kind = scanner.scan()) {
    switch (kind) {
      case token.openBrace:
      case token.openBracket:
        keysOfOpen.push(kind === token.openBrace ? new Set() : null);
        keyComesNext = kind === token.openBrace;
        break;
      case token.closeBrace:
      case token.closeBracket:
        keysOfOpen.pop();
        keyComesNext = false;
        break;
      case token.comma:
        keyComesNext = keysOfOpen.at(-1) !== null;
        break;
      case token.string: {
        const keys = keyComesNext ? keysOfOpen.at(-1) : null;
        keyComesNext = false;
        if (!keys) break;
        const key = scanner.getTokenValue();
        if (key === '__proto__') report('body', 'must not contain the key __proto__');
        if (keys.has(key)) reportDuplicate(key, keysOfOpen.length === 1 && fields.includes(key), report);
        keys.add(key);
        break;
      }
    }
  }
  return [...issues.values()];
}

function reportDuplicate(
  key: string,
  isField: boolean,
  report: (field: string, issue: string) => unknown,
): void {
  if (isField) report(key, 'must be given only once');
  else report('body', 'must not contain the same key twice in one object');
}
