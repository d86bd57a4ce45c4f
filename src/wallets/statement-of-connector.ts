import { connectorKinds } from './connector-kinds.ts';
import type { StatementTerms } from './connector/connector-kind.ts';

/** The terms of the statements of a connector, by its name in the wallets file. */
export const statementOfConnector = (connector: string): StatementTerms =>
  connectorKinds.find(({ name }) => name === connector)?.statementTerms ?? { listsReversals: true };
