/**
 * What a service token lets its bearer do. Each service says which role may call which of its methods.
 * `dashboard` acts for people who have signed in, and says in `x-gatehouse-actor` who. `writer` is an internal service that
 * makes orders; `reader` is one that only looks.
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
