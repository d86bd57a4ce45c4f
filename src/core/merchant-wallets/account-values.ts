import type { Issue } from '../domain/issue.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';
import type { AccountForm } from './account-form.ts';

export interface AccountValues {
  readonly openValues: Readonly<Record<string, string>>;
  readonly secrets: Readonly<Record<string, string>>;
}

/** Longer than a private key of 4096 bits in PEM. */
const maxLength = 8192;

/**
 * Reads the values of a new account. Spaces around a value are dropped, and an empty value counts as absent. The issues name
 * fields and never contain a value, because it may be a secret.
 */
export function parseAccountValues(
  given: Readonly<Record<string, string>>,
  form: AccountForm,
): Result<AccountValues, readonly Issue[]> {
  const values = Object.fromEntries(
    Object.entries(given)
      .map(([name, value]) => [name, value.trim()] as const)
      .filter(([, value]) => value !== ''),
  );
  const names = form.fields.map(({ name }) => name);
  const issueOf = (name: string, value: string): Issue[] => {
    const field = `values.${name}`;
    // The name is from outside, and may be a secret that was pasted in its place.
    if (!names.includes(name))
      return [{ field: 'values', issue: `must contain only these fields: ${names.join(', ')}` }];
    if (value.length > maxLength) return [{ field, issue: `must be at most ${maxLength} characters` }];
    if (/[^\P{Cc}\n\r\t]/u.test(value) || !value.isWellFormed())
      return [{ field, issue: 'must not contain control characters' }];
    return [];
  };
  const issues = Object.entries(values).flatMap(([name, value]) => issueOf(name, value));
  if (Object.keys(values).length === 0)
    issues.push({ field: 'values', issue: `must contain at least one of ${names.join(', ')}` });
  if (issues.length === 0) issues.push(...form.issues(values));
  if (issues.length > 0) return err(issues);
  const secretNames = new Set(form.fields.filter(({ isSecret }) => isSecret).map(({ name }) => name));
  const only = (areSecret: boolean) =>
    Object.fromEntries(Object.entries(values).filter(([name]) => secretNames.has(name) === areSecret));
  return ok({ openValues: only(false), secrets: only(true) });
}
