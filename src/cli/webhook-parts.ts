import type { FindMerchant } from './merchant-argument.ts';
import type { Runner } from './output.ts';
import type { WebhookClients } from './webhook-clients.ts';

/** The parts that the commands about webhooks use. */
export interface WebhookParts {
  readonly run: Runner<WebhookClients>;
  readonly findMerchant: FindMerchant;
  readonly now: () => Date;
  /** Reports a line about the progress. */
  readonly report: (line: string) => void;
  /** Aborts when the user presses Ctrl-C. */
  readonly interruption: () => AbortSignal;
}
