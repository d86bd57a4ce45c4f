/**
 * The roles of service tokens. Each service lists the roles that may call each method.
 * `dashboard` acts for signed-in users and names them in `x-gatehouse-actor`. `writer` is an internal service that registers,
 * cancels and refunds orders, and follows their events. `reader` is an internal service that only reads.
 */
export const roles = [
  'facade',
  'checkout',
  'wallets',
  'webhooks',
  'dashboard',
  'operator',
  'writer',
  'reader',
] as const;
export type Role = (typeof roles)[number];
