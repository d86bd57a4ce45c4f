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

/**
 * The largest message of a role that sends no large ones. Decoding 4 MiB of tiny items takes seconds and hundreds of MiB, during which core
 * answers no call. Anyone can open the checkout, and readers are programs of others. A batch of 500 orders to read has 100 kB.
 */
const smallMessageBytes = 256 * 1024;
const smallMessageRoles: readonly string[] = ['checkout', 'webhooks', 'dashboard', 'reader'] satisfies Role[];

/** The largest message that a role may send; undefined for the largest message of all. */
export const maxMessageBytesOf = (role: string): number | undefined =>
  smallMessageRoles.includes(role) ? smallMessageBytes : undefined;
