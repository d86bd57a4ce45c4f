import { connectorKinds } from './connector-kinds.ts';

/**
 * How wallets of a connector, by its name in the wallets file, return payments: not at all, only as a whole, or any part. `none`
 * for a connector that does not exist. A wallet's settings may take the ability away.
 */
export function refundsOfConnector(connector: string): 'none' | 'whole' | 'any' {
  const kind = connectorKinds.find(({ name }) => name === connector);
  if (kind?.capabilities.reversal !== true) return 'none';
  return kind.capabilities.partialReversal ? 'any' : 'whole';
}
