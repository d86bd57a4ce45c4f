/** The block that tells what an order waits for. Its sentences come with the explanation. */
export const explanation = {
  title: 'What the order waits for',
  heldBy: 'Held by',
  because: 'Undecided because',
  answer: 'Wallet’s latest answer',
  since: 'Since',
  ended: 'Ended',
  next: 'Next step',
};
