import { createHash } from 'node:crypto';

/** How many items a page has when the caller does not say. */
export const defaultPageSize = 50;
/** Callers that ask for more get this many (AIP-158). */
export const maxPageSize = 500;

/** What is wrong with a token that `readPageToken` does not read. */
export const pageTokenIssue = {
  field: 'page_token',
  issue: 'must be the next_page_token of a page read with the same filters',
} as const;

const fingerprint = (filter: unknown): string =>
  createHash('sha256').update(JSON.stringify(filter)).digest('base64url').slice(0, 8);

/**
 * A token for the page after the item with this id (AIP-158). It is bound to the filter, so that it cannot go on with
 * another list than the one it came from.
 */
export const pageTokenAfter = (id: string, filter: unknown): string =>
  Buffer.from(`1.${fingerprint(filter)}.${id}`).toString('base64url');

/** The id that a page token goes on after; undefined for a text that is no token of that filter. */
export function readPageToken(token: string, filter: unknown): string | undefined {
  const prefix = `1.${fingerprint(filter)}.`;
  const text = Buffer.from(token, 'base64url').toString('latin1');
  return text.startsWith(prefix) ? text.slice(prefix.length) : undefined;
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
