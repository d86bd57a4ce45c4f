import { holderText } from '../../../contract/order-explanation-text.ts';
import type { OrderExplanation } from '../../../gen/gatehouse/v1/order_explanation_pb.js';

/** An explanation with the values that a translation needs, in the language and time zone of the page. */
export interface ExplanationWriting {
  readonly explanation: OrderExplanation;
  /** The name of the wallet; empty without one. */
  readonly wallet: string;
  /** Why the latest payment took no money; empty when it did. */
  readonly reason: string;
  /** When the next step happens; empty when no time is known. */
  readonly at: string;
}

/** What an order waits for. The English text is the one that Gatehouse shows everywhere. */
export const explanation = {
  title: 'What the order waits for',
  text: ({ explanation: { englishText } }: ExplanationWriting): string => englishText,
  heldBy: 'Held by',
  holder: ({ explanation: { heldBy, walletName } }: ExplanationWriting): string =>
    holderText({ heldBy, walletName }),
  since: 'Since',
  ended: 'Ended',
  next: 'Next step',
};
