import { isPublicId } from '../../contract/public-id.ts';
import type { IdPrefix, PublicId } from '../../contract/public-id.ts';
import {
  defaultPageSize,
  maxPageSize,
  pageTokenIssue,
  readPageToken,
} from '../../platform/rpc/page-token.ts';
import type { Issue } from '../domain/issue.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';

/** The id after which the page begins; undefined for the first page. */
export function parsePageToken<P extends IdPrefix>(
  token: string,
  prefix: P,
  filter: unknown,
): Result<PublicId<P> | undefined, Issue> {
  if (token === '') return ok(undefined);
  const id = readPageToken(token, filter);
  return id !== undefined && isPublicId(prefix, id) ? ok(id) : err(pageTokenIssue);
}

/** The number of items of a page (AIP-158): `standard` when none is requested, and at most `max`. */
export function parsePageSize(
  size: number,
  standard = defaultPageSize,
  max = maxPageSize,
): Result<number, Issue> {
  if (size < 0) return err({ field: 'page_size', issue: 'must not be negative' });
  return ok(size === 0 ? standard : Math.min(size, max));
}
