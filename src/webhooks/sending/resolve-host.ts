import { lookup, Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { codeOf } from './error-code.ts';
import type { AddressGuard } from './public-address.ts';

/** Finds a host name's IP addresses. Rejects with a `code` as node:dns gives it when there are none. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

/** A host name has no address, or nobody could tell. `code` is that of node:dns. */
export class NameNotResolvedError extends Error {
  readonly code: string;

  constructor(code: string, cause: unknown) {
    super(`the name was not resolved (${code})`, { cause });
    this.code = code;
  }
}

/** None of a host's addresses may be connected to. */
export class AddressNotAllowedError extends Error {}

/** The codes of node:dns for a name that does not exist, or that has no address. */
const unknownCodes: readonly string[] = ['ENOTFOUND', 'ENODATA'];

/**
 * Asks the name servers directly. The system's own lookup would block one of a handful of threads for each name whose
 * servers are silent, and a few dead merchants would hold up everybody's deliveries; it is asked only about names that
 * the name servers know nothing of, which may be in this machine's hosts file.
 */
export function createResolve(resolver = new Resolver({ timeout: 1_500, tries: 2 })): Resolve {
  return async (hostname) => {
    const name = hostname.toLowerCase().replace(/\.$/, '');
    // RFC 6761, 6.3: never a question for name servers.
    if (name === 'localhost' || name.endsWith('.localhost')) return ['127.0.0.1', '::1'];
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (addresses.length > 0) return addresses;
    for (const answer of answers) {
      if (answer.status === 'rejected' && !isUnknown(answer.reason)) throw answer.reason;
    }
    return (await lookup(name, { all: true })).map(({ address }) => address);
  };
}

/**
 * The addresses of a URL's host (`URL.hostname`: brackets around IPv6) that may be connected to.
 *
 * Of a name that has allowed and other addresses, the allowed ones: only they are ever connected to, so the others do no
 * harm, and some come by no fault of the merchant's. Where a network translates (DNS64), every name has one of 64:ff9b::/96.
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

/** The IP address that a URL's host is, or undefined when it is a name. */
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
  return addresses;
}

const isUnknown = (error: unknown): boolean => unknownCodes.includes(codeOf(error));

/** Why a host name leads to no address that may be connected to. Only for the operator's log. */
export type HiddenCause = 'address_not_allowed' | 'name_unknown';

/**
 * Tells the operator why a host name leads nowhere; undefined for every other failure. The merchant must not learn the
 * difference: a merchant could otherwise ask, name by name, which hosts the operator's own network has. A literal IP
 * address tells the merchant nothing new.
 */
export function hiddenCauseOf(error: unknown, host: string): HiddenCause | undefined {
  if (addressIn(host) !== undefined) return undefined;
  if (error instanceof AddressNotAllowedError) return 'address_not_allowed';
  return error instanceof NameNotResolvedError && unknownCodes.includes(error.code)
    ? 'name_unknown'
    : undefined;
}
