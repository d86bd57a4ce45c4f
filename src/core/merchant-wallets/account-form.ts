import type { Issue } from '../domain/issue.ts';
import type { Environment } from '../domain/order.ts';

/** A setting of a wallet that a merchant can replace with its own. */
export interface AccountField {
  /** Such as "client_id", or "payee.id" for a part of an object. */
  readonly name: string;
  readonly isSecret: boolean;
  readonly description: string;
  /** The accepted values; any when empty. */
  readonly choices: readonly string[];
}

/** The settings that an own account at a wallet may have. The protocol of the wallet defines them. */
export interface AccountForm {
  readonly fields: readonly AccountField[];
  /** The problems of given values. Their texts contain no value, because it may be a secret. */
  readonly issues: (values: Readonly<Record<string, string>>) => readonly Issue[];
  /** The name of the account that gets the money of payments with these values; empty for the operator's account. */
  readonly payee: (environment: Environment, openValues: Readonly<Record<string, string>>) => string;
}

/** The forms by the ids of the wallets. A wallet without a form takes no own accounts. */
export type AccountForms = ReadonlyMap<string, AccountForm>;
