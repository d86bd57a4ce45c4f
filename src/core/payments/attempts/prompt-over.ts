import type { PaymentAttemptRow } from '../../database/entities.ts';

/**
 * Whether it is too late to ask the payer for the first time. Whoever waited for a prompt has given up by then, may have
 * paid in another way, and counts as free to be asked by another payment.
 */
export const isPromptOver = ({ promptUntil }: Pick<PaymentAttemptRow, 'promptUntil'>, now: Date): boolean =>
  promptUntil != null && now >= promptUntil;
