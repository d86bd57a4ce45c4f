import { createHash } from 'node:crypto';

export const defaultPageSize = 50;
/** The largest size of a page. A larger request gets this many items (AIP-158). */
export const maxPageSize = 500;

/** The field issue for a token that `readPageToken` rejects. */
export const pageTokenIssue = {
  field: 'page_token',
  issue: 'must be the next_page_token of a page read with the same filters',
} as const;

const fingerprint = (filter: unknown): string =>
  createHash('sha256').update(JSON.stringify(filter)).digest('base64url').slice(0, 8);

/**
 * A token for the page after the item with this id (AIP-158). It is bound to the filter, so that it cannot continue another
 * list.
 */
export const pageTokenAfter = (id: string, filter: unknown): string =>
  Buffer.from(`1.${fingerprint(filter)}.${id}`).toString('base64url');

/** The id after which the page begins; undefined for a text that is not a token of this filter. */
export function readPageToken(token: string, filter: unknown): string | undefined {
  const prefix = `1.${fingerprint(filter)}.`;
  const text = Buffer.from(token, 'base64url').toString('latin1');
  return text.startsWith(prefix) ? text.slice(prefix.length) : undefined;
}

/** Makes a page and its token from items that were read with one more than the page size. */
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
