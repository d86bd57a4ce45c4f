/** The delays of the simulated wallet, in milliseconds. */
export interface DelaysMs {
  /** From the prompt to the payer's answer. */
  readonly payerAnswer: number;
  /** From the prompt to its expiry without an answer. */
  readonly promptExpiry: number;
  /** From the prompt to a late success, after the client's time limit. The platform's prompt lasts 3 minutes. */
  readonly lateSuccess: number;
  /** From the prompt to the answer of a payer who takes a while. */
  readonly slowAnswer: number;
  /** From accepting a reversal to returning the money. */
  readonly reversal: number;
  /** How long the connection of a withheld acknowledgement stays open. */
  readonly hang: number;
}

/** The delays for use by people. */
export const standardDelaysMs: DelaysMs = {
  payerAnswer: 1_000,
  promptExpiry: 120_000,
  lateSuccess: 240_000,
  slowAnswer: 30_000,
  reversal: 1_000,
  hang: 120_000,
};

/** All delays, multiplied by the same factor. */
export function scaleDelays(delays: DelaysMs, scale: number): DelaysMs {
  return {
    payerAnswer: delays.payerAnswer * scale,
    promptExpiry: delays.promptExpiry * scale,
    lateSuccess: delays.lateSuccess * scale,
    slowAnswer: delays.slowAnswer * scale,
    reversal: delays.reversal * scale,
    hang: delays.hang * scale,
  };
}
