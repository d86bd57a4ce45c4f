import { isIP } from 'node:net';
import { codeOf } from '../../platform/error-code.ts';
import { isUnknownName } from '../../platform/resolve-name.ts';
import type { Resolve } from '../../platform/resolve-name.ts';
import type { AddressGuard } from './public-address.ts';

/** A host name has no address, or its lookup failed. `code` is that of node:dns. */
export class NameNotResolvedError extends Error {
  readonly code: string;

  constructor(code: string, cause: unknown) {
    super(`the name was not resolved (${code})`, { cause });
    this.code = code;
  }
}

/** A host has no address to which Gatehouse may connect. */
export class AddressNotAllowedError extends Error {}

/**
 * The addresses of each kind, IPv4 and IPv6, that are considered. A merchant's name server can give thousands. Node compares each address
 * with all others, which keeps this process busy. It recurses for each address to which the machine has no route, which can exhaust the
 * stack.
 */
const maxOfKind = 32;

/**
 * The allowed addresses of a URL's host (`URL.hostname`: brackets around IPv6).
 *
 * If a name has allowed and other addresses, only the allowed ones are returned. The others do no harm, and some are not
 * the merchant's fault. In a network with DNS64, every name also has an address in 64:ff9b::/96.
 *
 * @throws NameNotResolvedError, AddressNotAllowedError
 */
export async function allowedAddresses(
  host: string,
  resolve: Resolve,
  isAllowed: AddressGuard,
): Promise<readonly string[]> {
  const literal = addressIn(host);
  const addresses = literal === undefined ? await resolveName(host, resolve) : [literal];
  const allowed = addresses.filter(isAllowed);
  if (allowed.length === 0) throw new AddressNotAllowedError();
  return allowed;
}

/** The IP address in a URL's host; undefined for a name. */
export function addressIn(host: string): string | undefined {
  const text = host.startsWith('[') ? host.slice(1, -1) : host;
  return isIP(text) === 0 ? undefined : text;
}

async function resolveName(hostname: string, resolve: Resolve): Promise<readonly string[]> {
  let addresses: readonly string[];
  try {
    addresses = await resolve(hostname);
  } catch (error) {
    throw new NameNotResolvedError(codeOf(error), error);
  }
  if (addresses.length === 0) throw new NameNotResolvedError('ENODATA', undefined);
  if (addresses.length <= maxOfKind) return addresses;
  return [4, 6].flatMap((kind) => addresses.filter((address) => isIP(address) === kind).slice(0, maxOfKind));
}

/** Why a host name has no allowed address. Only for the operator's log. */
export type HiddenCause = 'address_not_allowed' | 'name_unknown';

/**
 * The cause of a failed host name, for the operator's log; undefined for other failures. The merchant must not see the
 * difference, because it would reveal hosts in the operator's network. A literal IP address reveals nothing new.
 */
export function hiddenCauseOf(error: unknown, host: string): HiddenCause | undefined {
  if (addressIn(host) !== undefined) return undefined;
  if (error instanceof AddressNotAllowedError) return 'address_not_allowed';
  return error instanceof NameNotResolvedError && isUnknownName(error) ? 'name_unknown' : undefined;
}
