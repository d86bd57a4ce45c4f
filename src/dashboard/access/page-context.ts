import type { WalletDirectory } from '../../contract/wallet-directory.ts';
import type { FastifyRequest } from 'fastify';
import { Environment } from '../../gen/gatehouse/v1/order_pb.js';
import { isAtLeast } from './dashboard-user.ts';
import type { Role, DashboardUser } from './dashboard-user.ts';

/** The merchant of a page, and its environment if the page has one. */
export interface PageMerchant {
  readonly merchantId: string;
  readonly merchantName: string;
  readonly environment: EnvironmentName | undefined;
  /** The user's role there. An operator reads, and changes only what operators may. */
  readonly role: Role | 'operator';
}

export type EnvironmentName = 'sandbox' | 'production';

export const isEnvironmentName = (text: string): text is EnvironmentName =>
  text === 'sandbox' || text === 'production';

declare module 'fastify' {
  interface FastifyRequest {
    /** The signed-in user; null before signing in. */
    signedInUser: DashboardUser | null;
    /** Whether the request waited after its session was read: for the rest of its form, or for its turn. */
    hasWaited: boolean;
    /**
     * Checks again whether the user may read the answer. A long download calls it before each of its parts.
     * @throws PageProblem when the session has ended or the user has lost the role
     */
    readonly recheckAccess: () => Promise<void>;
    /** The merchant of the page; null for other pages. */
    pageMerchant: PageMerchant | null;
    /** The configured wallets; none before the page's handler, and while core has not answered. */
    wallets: WalletDirectory;
  }
}

/** The signed-in user, on a route that requires one. */
export function signedInUserOf({ signedInUser }: FastifyRequest): DashboardUser {
  if (signedInUser === null) throw new TypeError('asked for the user on a route that is open to everyone');
  return signedInUser;
}

/** The merchant of a route below `/m/:merchantId`. */
export function pageMerchantOf({ pageMerchant }: FastifyRequest): PageMerchant {
  if (pageMerchant === null) throw new TypeError('asked for the merchant on a route without one');
  return pageMerchant;
}

/** Whether the user may make the changes that need the role of a developer. Operators only read. */
export function mayChange(request: FastifyRequest): boolean {
  const { role } = pageMerchantOf(request);
  return role !== 'operator' && isAtLeast(role, 'developer');
}

/** Whether the user may open the pages for developers. */
export function mayOpenDeveloperPages(request: FastifyRequest): boolean {
  const { role } = pageMerchantOf(request);
  return role === 'operator' || isAtLeast(role, 'developer');
}

/** The merchant and environment of a route below `/m/:merchantId/:environment`, as fields of a request. */
export function scopeOf(request: FastifyRequest): { merchantId: string; environment: Environment } {
  const { merchantId, environment } = pageMerchantOf(request);
  if (environment === undefined) throw new TypeError('asked for the environment on a route without one');
  return {
    merchantId,
    environment: environment === 'sandbox' ? Environment.SANDBOX : Environment.PRODUCTION,
  };
}

/** The path of a page: `pathIn(pageMerchantOf(request), 'keys')`. Without a path, the home of the environment. */
export function pathIn({ merchantId, environment }: PageMerchant, path = ''): string {
  const parts = ['/m', merchantId, ...(environment === undefined ? [] : [environment])];
  return [...parts, ...(path === '' ? [] : [path])].join('/');
}
