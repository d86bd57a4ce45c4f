import { connectorKinds } from './connector-kinds.ts';
import type { TransactionIds } from './connector/connector-kind.ts';

/** The form of a connector's transaction ids, by its name in the wallets file; undefined if they may be any text. */
export const transactionIdsOfConnector = (connector: string): TransactionIds | undefined =>
  connectorKinds.find(({ name }) => name === connector)?.transactionIds;
