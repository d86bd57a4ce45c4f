import { PageProblem } from '../page-problem.ts';
import { fieldOf } from './read-form.ts';

/**
 * Holds a change back that was decided on what is not so any more: the form has what its page showed in the hidden field
 * `seen`, and two people may have had that page open. @throws PageProblem, which comes to the page that says so
 */
export function requireSeen(body: unknown, now: string): void {
  if (fieldOf(body, 'seen') !== now) throw new PageProblem('changedMeanwhile', 'SEEN_ANOTHER');
}
