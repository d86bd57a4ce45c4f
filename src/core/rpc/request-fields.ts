import { invalidFields } from '../../platform/rpc/rpc-error.ts';
import { idIssue, isPublicId } from '../../contract/public-id.ts';
import type { IdPrefix, PublicId } from '../../contract/public-id.ts';
import type { Issue } from '../domain/issue.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';

/** The values of a parsed request. @throws INVALID_ARGUMENT INVALID_FIELDS with every issue. */
export function valuesOrThrow<T>(result: Result<T, Issue | readonly Issue[]>): T {
  if (result.ok) return result.value;
  throw invalidFields([result.error].flat());
}

/** Parses a public id. */
export function parseId<P extends IdPrefix>(
  prefix: P,
  text: string,
  field: string,
): Result<PublicId<P>, Issue> {
  return isPublicId(prefix, text) ? ok(text) : err({ field, issue: idIssue(prefix) });
}

/** As `parseId`, for optional fields. */
export function parseOptionalId<P extends IdPrefix>(
  prefix: P,
  text: string,
  field: string,
): Result<PublicId<P> | undefined, Issue> {
  return text === '' ? ok(undefined) : parseId(prefix, text, field);
}
