/** How a wallet returns payments: not at all, only as a whole, or any part. */
export type ConnectorRefunds = 'none' | 'whole' | 'any';

/**
 * The answer for each connector. Core must know it before a refund starts, and only the wallets process has the connectors.
 * A test compares this table with their capabilities.
 */
export const connectorRefunds: Readonly<Record<string, ConnectorRefunds>> = {
  gsma: 'any',
  'mpesa-daraja': 'whole',
  'mpesa-ethiopia': 'whole',
  'mtn-momo': 'any',
  telebirr: 'any',
};

/** The answer for a connector by its name in the wallets file; `none` for one that this version does not know. */
export const refundsOfConnector = (connector: string): ConnectorRefunds =>
  Object.hasOwn(connectorRefunds, connector) ? (connectorRefunds[connector] ?? 'none') : 'none';
