import type { Payments } from '../payments.ts';
import type { WalletContext } from '../simulated-wallet.ts';
import type { TelebirrCredentials } from './credentials.ts';

/** The faults that a test can arm for the next suitable request. telebirr gets the payer's number too late to select these. */
export const faults = [
  'preorder_lost',
  'preorder_not_received',
  'unavailable',
  'rate_limit',
  'refund_lost',
  'refund_not_enabled',
  'notification_as_form',
  'notification_as_field_name',
] as const;
export type Fault = (typeof faults)[number];

/** One gateway with its state. */
export interface Telebirr {
  readonly context: WalletContext;
  readonly credentials: TelebirrCredentials;
  readonly payments: Payments;
  /** The times in milliseconds at which tokens expire. */
  readonly tokens: Map<string, number>;
  readonly takeFault: (fault: Fault) => boolean;
}
