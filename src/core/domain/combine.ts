import type { Issue } from './issue.ts';
import { type Result, err, ok } from './result.ts';

type Parsed = Result<unknown, Issue | readonly Issue[]>;
type Values<R extends Readonly<Record<string, Parsed>>> = {
  readonly [K in keyof R]: R[K] extends Result<infer T, Issue | readonly Issue[]> ? T : never;
};

/** All values if every field is valid, otherwise the issues of all fields, so that a caller gets every problem at once. */
export function combine<R extends Readonly<Record<string, Parsed>>>(
  results: R,
): Result<Values<R>, readonly Issue[]> {
  const issues: Issue[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, result] of Object.entries(results)) {
    if (result.ok) values[name] = result.value;
    else issues.push(...[result.error].flat());
  }
  return issues.length > 0 ? err(issues) : ok(values as Values<R>);
}
