import type { explanation as english } from '../english/explanation.ts';

export const explanation: typeof english = {
  title: 'ትዕዛዙ የሚጠብቀው',
  heldBy: 'የሚመለከተው',
  because: 'ያልተወሰነበት ምክንያት',
  answer: 'የዋሌቱ የመጨረሻ መልስ',
  since: 'ከመቼ ጀምሮ',
  ended: 'ያበቃው',
  next: 'ቀጣይ ደረጃ',
};
