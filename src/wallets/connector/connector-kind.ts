import type { LookupFunction } from 'node:net';
import { Type } from '@sinclair/typebox';
import type { Static, TObject, TString } from '@sinclair/typebox';
import type { SharedTokens } from './access-tokens.ts';
import type { WalletCapabilities, WalletConnector } from './wallet-connector.ts';

/**
 * A protocol that wallets speak. The configuration of a wallet names its kind, and gives the `settings` of the kind for each
 * environment. Core reads the kinds too, so a kind is data, and imports the code of its connector in `load` only.
 */
export interface ConnectorKind<Settings extends TObject = TObject> {
  /** The word in the configuration, such as `mpesa-daraja`. */
  readonly name: string;
  /** The configuration of one environment. Secrets are declared with `secretText`. */
  readonly settings: Settings;
  /** The settings that a merchant may replace with its own: its payee account, and the credentials for it. */
  readonly merchantSettings: readonly string[];
  /**
   * Optional settings that belong to the same account at the wallet as others. If a merchant replaces one of `account`, the operator's
   * values of `bound` do not apply. Otherwise payments of the merchant's account would use the operator's account.
   */
  readonly boundSettings?: readonly {
    readonly account: readonly string[];
    readonly bound: readonly string[];
  }[];
  /**
   * The merchant settings that name the account that gets the money. None of them is a secret. Merchants' accounts with the same values
   * share one statement. An account without these values shares the operator's statement.
   */
  readonly payeeSettings: readonly string[];
  /** The capabilities of a connector with all optional settings. Without some of these settings, a connector may have fewer. */
  readonly capabilities: WalletCapabilities;
  /** The settings that are missing for the statement that the capabilities promise; undefined if none is missing. */
  statementLacks?(settings: Static<Settings>): string | undefined;
  /** The terms of the statement: everything is covered when absent. */
  readonly statementTerms?: StatementTerms;
  /** The form of all ids of transactions; any text when absent. */
  readonly transactionIds?: TransactionIds;
  /** Whether its connectors have `payerStarted`. */
  readonly reportsPayerStarted?: true;
  /** Loads the code of the connector, which core does not need. */
  load(): Promise<CreateConnector<Settings>>;
}

export interface TransactionIds {
  readonly pattern: RegExp;
  readonly example: string;
}

export interface StatementTerms {
  /** How far back the statement reaches, in milliseconds; without limit when absent. */
  readonly reachMs?: number;
  /** Whether the statement shows money that went back to payers. */
  readonly listsReversals: boolean;
}

/** Creates a connector. It throws an Error for settings that only the connector can judge, such as keys and certificates. */
export type CreateConnector<Settings extends TObject = TObject> = {
  // A method, so that a kind with its own settings is a ConnectorKind.
  create(settings: Static<Settings>, options: ConnectorOptions): WalletConnector;
}['create'];

/** The dependencies of a connector besides the settings of its kind. */
export interface ConnectorOptions {
  /** Our URL for the wallet. Callbacks go to `<callbackBaseUrl>/<our id>/<callback token>`. Read again for each request. */
  readonly callbackBaseUrl: () => string;
  /** The host of our callback URLs, where `callbackBaseUrl` lacks it. It gives undefined if the host is not known. */
  readonly callbackHost?: () => string | undefined;
  /** The ISO 4217 codes that this wallet accepts. */
  readonly currencies: readonly string[];
  readonly timeouts: {
    /** The time limit for a connection, including name resolution and TLS. */
    readonly connectMs: number;
    /** The time limit for a call: the access token, all its requests, and the last byte of every answer. For a statement, per page. */
    readonly callMs: number;
  };
  /** The largest number of connections to the wallet. Further requests wait within their time limit. */
  readonly maxConnections: number;
  /** Finds the addresses of a host name. One for all connectors of the process: see `createSharedLookup`. */
  readonly lookup: LookupFunction;
  /** One for all connectors of the process. */
  readonly sharedTokens: SharedTokens;
  readonly now: () => Date;
}

/** Marks a setting as secret. */
export const isSecret = 'x-gatehouse-secret';

/**
 * A setting that is a secret. The configuration names the secret instead of containing it, and the connector gets its text.
 * @param description tells the operator where the provider shows it
 */
export const secretText = (description: string): TString =>
  Type.String({ minLength: 1, description, [isSecret]: true });

/** The characters that a header of HTTP carries unchanged (RFC 9110, 5.5). */
export const headerPattern = '^[\\x21-\\x7e]+( +[\\x21-\\x7e]+)*$';

/** A setting that is sent in a header. */
export const headerText = (description: string): TString =>
  Type.String({ pattern: headerPattern, description });

/** A secret that is sent in a header. */
export const secretHeaderText = (description: string): TString =>
  Type.String({ pattern: headerPattern, description, [isSecret]: true });
