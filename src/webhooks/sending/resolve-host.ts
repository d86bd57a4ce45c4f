import { lookup, Resolver, TIMEOUT } from 'node:dns/promises';
import { isIP } from 'node:net';
import { codeOf } from './error-code.ts';
import type { AddressGuard } from './public-address.ts';

/** Resolves a host name to its IP addresses. Rejects with a `code` of node:dns when there are none. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

/** A host name has no address, or its lookup failed. `code` is that of node:dns. */
export class NameNotResolvedError extends Error {
  readonly code: string;

  constructor(code: string, cause: unknown) {
    super(`the name was not resolved (${code})`, { cause });
    this.code = code;
  }
}

/** None of a host's addresses is allowed. */
export class AddressNotAllowedError extends Error {}

/** The codes of node:dns for a name that does not exist, or that has no address. */
const unknownCodes: readonly string[] = ['ENOTFOUND', 'ENODATA'];

/**
 * The addresses of each kind, IPv4 and IPv6, that are considered. A merchant's name server can give thousands. Node compares each address
 * with all others, which keeps this process busy. It recurses for each address to which the machine has no route, which can exhaust the
 * stack.
 */
const maxOfKind = 32;

/** How long a name waits for its turn in the system's lookup. Not shorter than the time for a connection. */
const longestTurnMs = 5_000;

/** How long a resolver is used. It reads the addresses of the name servers only once, and they change with the network. */
const resolverAgeMs = 60_000;

/**
 * After quick answers of a name server, c-ares waits only about a second for each of its next ones. So it asks often enough to use the time
 * of a connection (5 s). A name server that forwards the question may need most of this time.
 */
export const resolverOptions = { timeout: 1_500, maxTimeout: 1_500, tries: 4 };

/** Gives a resolver that is at most a minute old. */
export function renewResolver<R>(create: () => R, monotonicMs = () => performance.now()): () => R {
  let made: { readonly resolver: R; readonly atMs: number } | undefined;
  return () => {
    const nowMs = monotonicMs();
    if (made === undefined || nowMs - made.atMs >= resolverAgeMs) made = { resolver: create(), atMs: nowMs };
    return made.resolver;
  };
}

const systemLookup: Resolve = async (name) =>
  (await lookup(name, { all: true })).map(({ address }) => address);

/**
 * Queries the name servers directly. The system's lookup blocks one of few threads for each unresponsive name server. A
 * few unreachable merchants would delay all deliveries. The system's lookup is used only for names unknown to the name
 * servers, which may be in the hosts file.
 *
 * It is used for one name at a time. A merchant's name server can report names as unknown, and then not answer the system.
 * Many such names would block all threads, and this process could no longer look up its database, the broker and core.
 */
export function createResolve(
  currentResolver = renewResolver(() => new Resolver(resolverOptions)),
  lookUp = systemLookup,
  turnWithinMs = longestTurnMs,
): Resolve {
  const lookUpInTurn = oneAtATime(lookUp, turnWithinMs);
  return async (hostname) => {
    const name = hostname.toLowerCase().replace(/\.$/, '');
    // RFC 6761, 6.3: localhost names are never sent to name servers.
    if (name === 'localhost' || name.endsWith('.localhost')) return ['127.0.0.1', '::1'];
    const resolver = currentResolver();
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (addresses.length > 0) return addresses;
    for (const answer of answers) {
      if (answer.status === 'rejected' && !isUnknown(answer.reason)) throw answer.reason;
    }
    return lookUpInTurn(name);
  };
}

/** Resolves one name at a time. A name that waits too long for its turn is not looked up, because its attempt is over. */
function oneAtATime(lookUp: Resolve, turnWithinMs: number): Resolve {
  let last: Promise<unknown> = Promise.resolve();
  return (name) => {
    const late = AbortSignal.timeout(turnWithinMs);
    const addresses = last.then(() => {
      if (late.aborted) throw Object.assign(new Error('other names were looked up'), { code: TIMEOUT });
      return lookUp(name);
    });
    last = addresses.catch(() => undefined);
    return addresses;
  };
}

/**
 * The allowed addresses of a URL's host (`URL.hostname`: brackets around IPv6).
 *
 * If a name has both kinds of addresses, only the allowed ones are returned. The others do no harm, and some are not
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

const isUnknown = (error: unknown): boolean => unknownCodes.includes(codeOf(error));

/** Why a host name has no allowed address. Only for the operator's log. */
export type HiddenCause = 'address_not_allowed' | 'name_unknown';

/**
 * The cause of a failed host name, for the operator's log; undefined for other failures. The merchant must not see the
 * difference, because it would reveal hosts in the operator's network. A literal IP address reveals nothing new.
 */
export function hiddenCauseOf(error: unknown, host: string): HiddenCause | undefined {
  if (addressIn(host) !== undefined) return undefined;
  if (error instanceof AddressNotAllowedError) return 'address_not_allowed';
  return error instanceof NameNotResolvedError && unknownCodes.includes(error.code)
    ? 'name_unknown'
    : undefined;
}
