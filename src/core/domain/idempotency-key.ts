import type { Issue } from './issue.ts';
import { err, ok } from './result.ts';
import type { Result } from './result.ts';

/** Reads a caller's idempotency key. The empty text is no key. Issue: not 1 to 255 printable ASCII characters. */
export function parseIdempotencyKey(text: string): Result<string | undefined, Issue> {
  if (text === '') return ok(undefined);
  if (/^[\x20-\x7e]{1,255}$/.test(text)) return ok(text);
  return err({ field: 'idempotency_key', issue: 'must be 1 to 255 printable ASCII characters' });
}
