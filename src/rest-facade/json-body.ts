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

/** The result for a body that is not an object, with the issue. */
export function unreadableBody(issue: string, field = 'body'): BodyReading {
  return { readable: false, issues: [{ field, issue }] };
}

/**
 * Reads a request body as one JSON object (RFC 8259). It must be valid UTF-8 without a byte order mark, with at most 16 levels. No object
 * may have a key twice or the key `__proto__`. An empty body counts as `{}`, so that the answer names the required fields. A duplicate key
 * is reported on its field if `fields` contains it, otherwise on the body.
 *
 * Unknown members, lists and objects are dropped, except in a short excerpt. A request may wait for long, and such a body can need twenty
 * times its size in memory.
 */
export function readJsonObject(bytes: Buffer, fields: readonly string[]): BodyReading {
  if (bytes.length === 0) return { readable: true, object: {}, excerpt: undefined, issues: [] };
  if (!isUtf8(bytes)) return unreadableBody('must be UTF-8 text');
  const text = bytes.toString('utf8');
  if (text.startsWith('\ufeff')) return unreadableBody('must not start with a byte order mark');
  const parsed = parseJson(text);
  if ('issue' in parsed) return unreadableBody(parsed.issue);
  if (typeof parsed.value !== 'object' || parsed.value === null || Array.isArray(parsed.value)) {
    return unreadableBody('must be a JSON object');
  }
  const issues = isPlain(text, parsed.value) ? [] : structureIssues(text, fields);
  const isWhole = Object.entries(parsed.value).every(
    ([name, value]) => fields.includes(name) && !isListOrObject(value),
  );
  if (isWhole) return { readable: true, object: parsed.value, excerpt: undefined, issues };
  return {
    readable: true,
    object: pickFields(parsed.value, fields),
    excerpt: excerptOf(parsed.value),
    issues,
  };
}

const isListOrObject = (value: unknown): boolean => typeof value === 'object' && value !== null;

function pickFields(body: object, fields: readonly string[]): object {
  const known = fields.filter((name) => Object.hasOwn(body, name));
  return Object.fromEntries(
    known.map((name) => {
      const value: unknown = Reflect.get(body, name);
      return [name, isListOrObject(value) ? (Array.isArray(value) ? [] : {}) : value];
    }),
  );
}

/** The beginning of the body as JSON; '' for a body that is nested too deeply for JSON.stringify. JSON.parse has no such limit. */
function excerptOf(body: object): string {
  try {
    // A part of a text keeps the whole text in memory, unless it is copied. The additional character shows that the text was cut.
    return Buffer.from(JSON.stringify(body).slice(0, maskedLength + 1)).toString();
  } catch {
    return '';
  }
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

/**
 * A quick test for a simple object: every value is a text, nothing is escaped, and no key is duplicated. Each member then has
 * four quotation marks, and a duplicate that `JSON.parse` dropped would add at least two. Almost every body passes, and
 * needs no second scan.
 */
function isPlain(text: string, object: object): boolean {
  if (text.includes('\\') || Object.hasOwn(object, '__proto__')) return false;
  const values: unknown[] = Object.values(object);
  if (!values.every((value) => typeof value === 'string')) return false;
  let quotes = 0;
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at + 1)) quotes += 1;
  return quotes === 4 * values.length;
}

/**
 * Issues that `JSON.parse` accepts, but that two parsers may read differently. It is iterative, so that deep nesting cannot
 * exhaust the stack. The text was parsed before, so the order of its tokens is valid.
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
        if (keysOfOpen.length <= maxJsonDepth) break;
        report('body', `must not be nested deeper than ${maxJsonDepth} levels`);
        return [...issues.values()];
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
