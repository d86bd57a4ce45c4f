import { isUtf8 } from 'node:buffer';
import { createScanner } from 'jsonc-parser';
import type { ErrorDetail } from '../merchant-api/error-envelope.ts';

/**
 * What became of a request's body. Unreadable: nothing can be said of its fields. Readable: there is an object, and
 * still there may be something wrong with the JSON it was written in.
 */
export type BodyReading =
  | { readonly readable: true; readonly object: object; readonly issues: readonly ErrorDetail[] }
  | { readonly readable: false; readonly issues: readonly ErrorDetail[] };

/** Deeper than any body of this API, and shallow enough for every JSON library a log or a queue may meet it with. */
export const maxJsonDepth = 16;

/** The token kinds of jsonc-parser's scanner that matter here; its own `const enum` cannot be used by erased types. */
const token = { openBrace: 1, closeBrace: 2, openBracket: 3, closeBracket: 4, comma: 5, string: 10, end: 17 };

/** A body that cannot be read as an object, and why. */
export function unreadableBody(issue: string, field = 'body'): BodyReading {
  return { readable: false, issues: [{ field, issue }] };
}

/**
 * Reads a request body as one JSON object (RFC 8259), strictly: valid UTF-8 without a byte order mark, no key twice in
 * one object, no `__proto__`, at most 16 levels. No bytes at all count as `{}`, so that the answer names the fields
 * that are required. `fields` are the fields a duplicate can be reported on; others are reported on the body.
 */
export function readJsonObject(bytes: Buffer, fields: readonly string[]): BodyReading {
  if (bytes.length === 0) return { readable: true, object: {}, issues: [] };
  if (!isUtf8(bytes)) return unreadableBody('must be UTF-8 text');
  const text = bytes.toString('utf8');
  if (text.startsWith('\ufeff')) return unreadableBody('must not start with a byte order mark');
  const parsed = parseJson(text);
  if ('issue' in parsed) return unreadableBody(parsed.issue);
  if (typeof parsed.value !== 'object' || parsed.value === null || Array.isArray(parsed.value)) {
    return unreadableBody('must be a JSON object');
  }
  const issues = isPlain(text, parsed.value) ? [] : structureIssues(text, fields);
  return { readable: true, object: parsed.value, issues };
}

function parseJson(text: string): { value: unknown } | { issue: string } {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    // The parser's message quotes the body, which may hold what does not belong into a reply.
    const cutOff = error instanceof SyntaxError && error.message.includes('Unexpected end');
    return { issue: cutOff ? 'must be valid JSON; it ends too early' : 'must be valid JSON' };
  }
}

/**
 * Whether nothing but an object of texts can have been written, each key once: with every value a text, and nothing
 * escaped, each member has four quotation marks, and one that `JSON.parse` dropped would have added at least two. That is
 * how almost every body is, and quicker to see than to read it once more.
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
 * What `JSON.parse` lets pass and two readers may take for two different things. Iterative, so that no nesting can
 * exhaust the stack; the text has been parsed before, so the tokens are known to be in a legal order.
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
