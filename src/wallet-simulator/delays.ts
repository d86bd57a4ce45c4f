/** How long the simulated wallet takes over things, in milliseconds. */
export interface DelaysMs {
  /** From the prompt to the payer's answer. */
  readonly payerAnswer: number;
  /** From the prompt to its expiry when nobody answers. */
  readonly promptExpiry: number;
  /** From the prompt to a success so late that whoever asked has given up: the platform's prompt lasts 3 minutes. */
  readonly lateSuccess: number;
  /** From accepting a reversal to the money being back. */
  readonly reversal: number;
  /** How long an acknowledgement that never comes keeps its connection open. */
  readonly hang: number;
}

/** The delays of a wallet used by people. */
export const standardDelaysMs: DelaysMs = {
  payerAnswer: 1_000,
  promptExpiry: 120_000,
  lateSuccess: 240_000,
  reversal: 1_000,
  hang: 120_000,
};

/** All delays, longer or shorter by the same factor. */
export function scaleDelays(delays: DelaysMs, scale: number): DelaysMs {
  return {
    payerAnswer: delays.payerAnswer * scale,
    promptExpiry: delays.promptExpiry * scale,
    lateSuccess: delays.lateSuccess * scale,
    reversal: delays.reversal * scale,
    hang: delays.hang * scale,
  };
}
