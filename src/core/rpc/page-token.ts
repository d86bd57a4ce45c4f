import { createHash } from 'node:crypto';
import type { Issue } from '../domain/issue.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';
import { isPublicId } from '../../runtime/public-id.ts';
import type { IdPrefix } from '../../runtime/public-id.ts';

const defaultPageSize = 50;
const maxPageSize = 500;

const fingerprint = (filter: unknown): string =>
  createHash('sha256').update(JSON.stringify(filter)).digest('base64url').slice(0, 8);

/**
 * A token for the page after the item with this id (AIP-158). It is bound to the filter, so that it cannot go on with
 * another list than the one it came from.
 */
export const pageTokenAfter = (id: string, filter: unknown): string =>
  Buffer.from(`1.${fingerprint(filter)}.${id}`).toString('base64url');

/** The id that a page token goes on after; undefined for the first page. */
export function parsePageToken(
  token: string,
  prefix: IdPrefix,
  filter: unknown,
): Result<string | undefined, Issue> {
  if (token === '') return ok(undefined);
  const [version, print, id = ''] = Buffer.from(token, 'base64url').toString('latin1').split('.');
  if (version !== '1' || print !== fingerprint(filter) || !isPublicId(prefix, id)) {
    return err({
      field: 'page_token',
      issue: 'must be the next_page_token of a page read with the same filters',
    });
  }
  return ok(id);
}

/** How many items to give: 50 when not said; more than 500 is cut to 500 (AIP-158). */
export function parsePageSize(
  size: number,
  standard = defaultPageSize,
  max = maxPageSize,
): Result<number, Issue> {
  if (size < 0) return err({ field: 'page_size', issue: 'must not be negative' });
  return ok(size === 0 ? standard : Math.min(size, max));
}

/** Splits one item more than was asked for into the page and the token for the next one. */
export function pageOf<T extends { readonly id: string }>(
  items: readonly T[],
  size: number,
  filter: unknown,
): { items: T[]; nextPageToken: string } {
  const page = items.slice(0, size);
  const last = page.at(-1);
  return {
    items: page,
    nextPageToken: items.length > size && last !== undefined ? pageTokenAfter(last.id, filter) : '',
  };
}
