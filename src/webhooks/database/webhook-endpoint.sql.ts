/**
 * The SQL condition that a column with the key of a lane holds the id of a webhook endpoint. Otherwise it holds scheme, host and port.
 * The partial index on deliveries has the same condition.
 */
export const isWebhookEndpoint = (column: string): string => `${column} like 'whe\\_%'`;
