import { messagesIn } from './language/dictionary.ts';
import { waitText } from '../platform/language/duration-text.ts';
import type { Language } from '../platform/language/language.ts';
import type { OutcomeView } from './page-views.ts';

/** The problems that prevent showing a checkout, with their status codes. */
export const problems = {
  unknownLink: 404,
  tooManyRequests: 429,
  tooManyPayments: 429,
  tooManyPaymentsOfNetwork: 429,
  foreignForm: 403,
  badRequest: 400,
  unavailable: 503,
} as const;

export type Problem = keyof typeof problems;

export interface ProblemPageParts {
  readonly language: Language;
  /** The payment's address, if the customer can return to it. */
  readonly self: string | undefined;
  /** How long the customer must wait before the next try. */
  readonly waitSeconds: number;
}

/** A page with the problem and the next step. */
export function problemPage(
  problem: Problem,
  { language, self, waitSeconds }: ProblemPageParts,
): OutcomeView {
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
    lead: typeof body === 'string' ? body : body(waitText(waitSeconds, language)),
    facts: [],
    self: self ?? '',
    ...(canGoOn ? { again: { href: self, text } } : {}),
    final: false,
  };
}
