import { randomBytes } from 'node:crypto';
import type { Forwarded } from '../forward-webhook.ts';
import { quote } from '../quote.ts';
import { failed, passed } from './check.ts';
import type { Verdict } from './check.ts';
import { madeUpOrder, orderEvent } from './made-up-events.ts';
import type { MadeUpEvent } from './made-up-events.ts';
import type { WebhookSender } from './webhook-sender.ts';

export interface ReceiverParts {
  readonly sender: WebhookSender;
  /** The merchant's current secret. */
  readonly secret: string;
  /** The secret that replaces it, during a rotation. */
  readonly nextSecret: string | undefined;
  /** The time limit of one answer. */
  readonly answerMs: number;
  readonly now: () => Date;
}

/** Answers, each with the webhook that was answered, as the object of a sentence. */
export type Answers = readonly (readonly [webhook: string, answer: Forwarded])[];

/** A secret that no receiver has. */
export const randomSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;

/** An order.completed of an order of its own. */
export const completedEvent = (at: Date): MadeUpEvent => orderEvent('order.completed', madeUpOrder(at), at);

export const isAccepted = ({ status }: Forwarded): boolean => status >= 200 && status < 300;

const maxQuoted = 60;

/** The answer as the predicate of a sentence about the receiver: `answered 500 "boom"`. */
export function answerText({ status, problem, answer }: Forwarded): string {
  if (problem !== '') return `gave no answer (${problem})`;
  const quoted = quote(answer, maxQuoted);
  return `answered ${status}${quoted === '' || (status >= 200 && status < 300) ? '' : ` "${quoted}"`}`;
}

const statusesOf = (answers: Answers): string =>
  [...new Set(answers.map(([, { status }]) => status))].join(' and ');

/** Passes when every answer is a 2xx. */
export function allAccepted(answers: Answers): Verdict {
  const [webhook, answer] = answers.find(([, each]) => !isAccepted(each)) ?? [];
  return webhook === undefined || answer === undefined
    ? passed(`answered ${statusesOf(answers)}`)
    : failed(`${answerText(answer)} to ${webhook}`);
}

/** Passes when every answer is complete, and none is a 2xx. */
export function allRefused(answers: Answers): Verdict {
  const [webhook, answer] = answers.find(([, each]) => isAccepted(each) || each.problem !== '') ?? [];
  return webhook === undefined || answer === undefined
    ? passed(`refused with ${statusesOf(answers)}`)
    : failed(`${answerText(answer)} to ${webhook}`);
}
