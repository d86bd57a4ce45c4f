import type { FindMerchant } from './merchant-argument.ts';
import type { Runner } from './output.ts';
import type { WebhookClients } from './webhook-clients.ts';

/** What the commands about webhooks are given. */
export interface WebhookParts {
  readonly run: Runner<WebhookClients>;
  readonly findMerchant: FindMerchant;
  readonly now: () => Date;
  /** Takes a line about how far it is. */
  readonly report: (line: string) => void;
  /** Aborts when the user has had enough. */
  readonly interruption: () => AbortSignal;
}
