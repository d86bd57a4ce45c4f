import { PageProblem } from '../page-problem.ts';
import { fieldOf } from './read-form.ts';

/**
 * Refuses a change that is based on outdated data. The hidden field `seen` contains the state that the page showed. Another
 * user may have changed it since. @throws PageProblem
 */
export function requireSeen(body: unknown, now: string): void {
  if (fieldOf(body, 'seen') !== now) throw new PageProblem('changedMeanwhile', 'SEEN_ANOTHER');
}
