import { connectorKinds } from './connector-kinds.ts';

/** Whether payers pay on a page that the wallets of a connector, by its name in the wallets file, make for each payment. */
export const opensPageOfConnector = (connector: string): boolean =>
  connectorKinds.find(({ name }) => name === connector)?.capabilities.payerNeedsAnswer === true;
