import { messagesIn } from './language/dictionary.ts';
import type { Language } from '../platform/language/language.ts';
import type { OutcomeView } from './page-views.ts';

/** Why there is no checkout to show, and the status code it comes under. */
export const problems = {
  unknownLink: 404,
  tooManyRequests: 429,
  tooManyPayments: 429,
  foreignForm: 403,
  badRequest: 400,
  unavailable: 503,
} as const;

export type Problem = keyof typeof problems;

/** A page that says what is wrong and what to do. `self` is the payment's address, when there is one to go back to. */
export function problemPage(problem: Problem, language: Language, self: string | undefined): OutcomeView {
  const messages = messagesIn(language);
  const { title, body } = messages[problem];
  const text = problem === 'unavailable' ? messages.checkAgain : messages.toPayment;
  const canGoOn = self !== undefined && problem !== 'unknownLink' && problem !== 'tooManyRequests';
  return {
    template: 'outcome',
    title,
    testPayment: false,
    tone: 'neutral',
    heading: title,
    lead: body,
    facts: [],
    self: self ?? '',
    ...(canGoOn ? { again: { href: self, text } } : {}),
    final: false,
  };
}
