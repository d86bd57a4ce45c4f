import type { Role } from '../../contract/roles.ts';
import { rpcError } from '../../contract/error-reason.ts';

/** The roles that may register orders. */
export const registrars = ['facade', 'operator', 'writer', 'dashboard'] as const satisfies readonly Role[];

/**
 * The checkout URL pays and cancels the order. A role that may register orders can get the URL anyway by sending the order
 * again. No other role may read it. @throws PERMISSION_DENIED ROLE_NOT_ALLOWED
 */
export function requireRegistrar(role: string): void {
  if (registrars.some((registrar) => registrar === role)) return;
  throw rpcError(
    'ROLE_NOT_ALLOWED',
    `with_checkout_url is allowed only for roles that may register orders (${registrars.join(', ')}); the token has the role ${role}`,
  );
}
