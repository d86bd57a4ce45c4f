import type { Order } from './order.ts';

/** The text that replaces personal data that was erased. No phone number has this form. */
export const erasedText = 'erased';

/** Whether the personal data of the order was erased. Then a request cannot be compared with the phone and texts that it had. */
export const isErased = ({ customerPhone }: Pick<Order, 'customerPhone'>): boolean =>
  customerPhone.asGiven === erasedText;

/** Whether a stored text equals a requested one, as far as it can still be known. */
export const isSameOrErased = (stored: string, asked: string): boolean =>
  stored === asked || stored === erasedText;
