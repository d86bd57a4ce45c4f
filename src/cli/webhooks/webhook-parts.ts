import type { JsonObject } from '@bufbuild/protobuf';
import type { FindMerchant } from '../merchant-argument.ts';
import type { Runner } from '../output.ts';
import type { WebhookClients } from './webhook-clients.ts';

/** The parts that the commands about webhooks use. */
export interface WebhookParts {
  readonly run: Runner<WebhookClients>;
  readonly findMerchant: FindMerchant;
  /**
   * Checks the merchant of an empty list, because a mistyped id would also give an empty list.
   * @throws ConnectError MERCHANT_NOT_FOUND, if a core is known and says so
   */
  readonly refuseUnknownMerchant: (merchantId: string) => Promise<void>;
  readonly now: () => Date;
  /** Reports a line about the progress. */
  readonly report: (line: string) => void;
  /** Receives a fact that a script needs when the command fails. */
  readonly note: (text: string, json: JsonObject) => void;
  /** Aborts when the user presses Ctrl-C. */
  readonly interruption: () => AbortSignal;
}
