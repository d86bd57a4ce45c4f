/** The kinds of actions in the audit log: the part before the dot. A newer core may have more. */
export const auditKinds = [
  'user',
  'session',
  'api_key',
  'signing_secret',
  'endpoint',
  'webhook_endpoint',
  'delivery',
  'redelivery',
  'test_event',
  'order',
  'refund',
  'settlement',
  'stray_payment',
  'merchant_wallet',
  'wallet_account',
  'personal_data',
  'recovery',
  'merchant',
] as const;
export type AuditKind = (typeof auditKinds)[number];
