import type { TSchema } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import type { DelaysMs } from './delays.ts';
import type { JournalFile } from './journal.ts';
import type { Ledger } from './ledger.ts';
import type { ReceivedRequests } from './received-requests.ts';

/** Runs a task after a delay. Returns the function that cancels it. */
export type Timers = (delayMs: number, task: () => void) => () => void;

/** Money that was charged to a payer. */
export interface ChargeView {
  readonly wallet: string;
  readonly transaction_reference: string;
  /** The id that the client gave to its request. */
  readonly correlation_id: string | null;
  readonly merchant_reference: string | null;
  /** Digits only. */
  readonly payer: string;
  readonly amount: string;
  readonly currency: string;
  readonly charged_at: string;
  /** The amount that was returned to the payer. */
  readonly reversed: string;
}

/** A requested payment and its state. */
export interface PromptView {
  readonly id: string;
  readonly wallet: string;
  /** How the payer is asked: by USSD, in the wallet's app, or on a page that the payer opens. */
  readonly channel: 'wallet' | 'ussd' | 'page';
  /** Digits only. Empty until the payer has typed a number on the wallet's page. */
  readonly payer: string;
  readonly amount: string;
  readonly currency: string;
  readonly description: string;
  readonly status: 'open' | 'completed' | 'failed';
  /** The status that queries return. */
  readonly shown_status: string;
  /** The code and providerCode of a failed payment's error. */
  readonly error: { readonly code: string; readonly provider_code: string | null } | null;
  /** A description of the outcome that the payer's number selects. */
  readonly outcome: string;
  /** Whether it waits for a person to approve or decline it. */
  readonly awaits_person: boolean;
  readonly transaction_reference: string;
  readonly correlation_id: string | null;
  readonly merchant_reference: string | null;
  readonly created_at: string;
  readonly expires_at: string;
  /** The wallet's page for the payer, if it has one. */
  readonly page_url?: string;
  readonly callbacks: readonly {
    readonly at: string;
    readonly tells: string;
    /** The HTTP status of the answer, the reason of a failure, or `lost` if the simulator deliberately sent none. */
    readonly answer: number | string;
  }[];
}

/**
 * The decision of a person for a payer. `lose_answer`: the payment completes without a callback, so the client learns the outcome only by a
 * query.
 */
export const decisions = ['approve', 'decline', 'time_out', 'lose_answer'] as const;
export type Decision = (typeof decisions)[number];

/** The parts of a wallet that the page and the admin API use, whatever its protocol. */
export interface SimulatedWallet {
  readonly id: string;
  /** Newest first. `payer`: only those of this number. */
  readonly prompts: (payer?: string) => readonly PromptView[];
  /** Newest first. */
  readonly charges: (payer?: string) => readonly ChargeView[];
  readonly balances: () => readonly object[];
  /** Returns `not_open` without effect when the prompt has ended, and undefined when there is no such prompt. */
  readonly decide: (promptId: string, decision: Decision) => 'done' | 'not_open' | undefined;
  /** Makes the next suitable request or callback fail; false for a fault that the protocol does not have. */
  readonly arm?: (fault: string) => boolean;
  /** Invalidates all access tokens, like a restart of a wallet. */
  readonly expireTokens: () => void;
  /** Cancels all pending events. */
  readonly close: () => void;
}

/** The services of the simulator for a simulated wallet. */
export interface WalletContext {
  readonly id: string;
  /** The base path of the wallet, such as `/mtn`. */
  readonly basePath: string;
  /** Valid for the schema of the protocol. */
  readonly credentials: unknown;
  readonly ledger: Ledger;
  readonly journal: JournalFile;
  /** Whether payers without a fixed outcome wait for a person. */
  readonly interactive: boolean;
  readonly delaysMs: DelaysMs;
  readonly tokenLifetimeSeconds: number;
  readonly callbackTimeoutMs: number;
  /** Aborts all callbacks under way. */
  readonly closing: AbortSignal;
  readonly received: ReceivedRequests;
  readonly after: Timers;
  readonly now: () => Date;
  readonly newUuid: () => string;
  readonly randomBytes: (count: number) => Buffer;
}

/** A protocol that simulated wallets speak. */
export interface SimulatedProtocol {
  /** The schema of the credentials of a wallet of this protocol. */
  readonly credentials: TSchema;
  /**
   * The paths at which the first wallet of the protocol also answers without its base path. Some client libraries accept an
   * origin, and drop the path of a base URL.
   */
  readonly rootPaths?: RegExp;
  /** A path of the provider's own sandbox that client libraries add to the base URL. The wallet answers there too. */
  readonly sandboxPath?: string;
  /** Adds the wallet's API to `scope`, which is mounted at the base path. */
  readonly mount: (scope: FastifyInstance, context: WalletContext) => Promise<SimulatedWallet>;
}
