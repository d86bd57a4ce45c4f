import { lookup, Resolver, TIMEOUT } from 'node:dns/promises';
import pTimeout from 'p-timeout';
import { codeOf } from './error-code.ts';
import { createFairCalls, takeTurn } from './fair-calls.ts';
import { readHosts } from './read-hosts.ts';

/**
 * Resolves a host name to its IP addresses. `owner`: who chose the name, such as a merchant; '' by default. Rejects with a `code` of node:dns
 * when there are none.
 */
export type Resolve = (hostname: string, owner?: string) => Promise<readonly string[]>;

const unknownCodes: readonly string[] = ['ENOTFOUND', 'ENODATA'];

/** Whether a name does not exist or has no address. */
export const isUnknownName = (error: unknown): boolean => unknownCodes.includes(codeOf(error));

/** How long a name waits for its turn in the system's lookup. Not shorter than the time for a connection. */
const longestTurnMs = 5_000;

/** Owners of names whose lookup by the system took longer are slow owners, for this many times as long as it took. */
const slowMs = 1_000;
const slowFactor = 360;

/**
 * How long a name whose addresses of one kind, IPv4 or IPv6, are found waits for those of the other kind. Some name servers and firewalls never
 * answer queries about IPv6, and the time of a connection must not pass with that.
 */
const otherKindMs = 500;

/** How long a resolver is used. It reads the addresses of the name servers only once, and they change with the network. */
const resolverAgeMs = 60_000;

/**
 * After quick answers of a name server, c-ares waits only about a second for each of its next ones. So it asks often enough to use the time
 * of a connection (5 s). A name server that forwards the query may need most of this time.
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

interface ResolveParts {
  readonly currentResolver: () => Resolver;
  readonly lookUp: Resolve;
  readonly turnWithinMs: number;
  readonly monotonicMs: () => number;
  readonly asksSystem: (error: unknown) => boolean;
  readonly hostsFile: string;
}

const systemLookup: Resolve = async (name) =>
  (await lookup(name, { all: true })).map(({ address }) => address);

/**
 * Queries the name servers directly. The system's lookup blocks one of few threads for each unresponsive name server. A few unreachable
 * merchants would delay all deliveries. So this machine is asked only after errors for which `asksSystem` is true, by default about
 * names unknown to the name servers. Its hosts file comes first, and then the system's lookup, which also knows search domains and mDNS.
 *
 * The system's lookup is used for two names at a time, and for one of each owner. A merchant's name server can report names as unknown, and then
 * not answer the system. libuv gives the system's lookups only two threads, and this process needs them to look up its database, the broker
 * and core. So owners whose lookup was slow share one of the two places for 360 times as long as it took. Hostile merchants hold both
 * places only with their first lookups, and then each for at most ten seconds an hour, if the system waits for so long.
 */
export function createResolve({
  currentResolver = renewResolver(() => new Resolver(resolverOptions)),
  lookUp = systemLookup,
  turnWithinMs = longestTurnMs,
  monotonicMs = () => performance.now(),
  asksSystem = isUnknownName,
  hostsFile = '/etc/hosts',
}: Partial<ResolveParts> = {}): Resolve {
  const lookUpInTurn = takingTurns(lookUp, turnWithinMs, monotonicMs);
  return async (hostname, owner = '') => {
    const name = hostname.toLowerCase().replace(/\.$/, '');
    // RFC 6761, 6.3: localhost names are never sent to name servers.
    if (name === 'localhost' || name.endsWith('.localhost')) return ['127.0.0.1', '::1'];
    const resolver = currentResolver();
    const asked = [resolver.resolve4(name), resolver.resolve6(name)];
    const answers = Promise.allSettled(asked);
    const found = await Promise.any(asked).catch(() => undefined);
    if (found !== undefined) {
      const both = answers.then((kinds) =>
        kinds.flatMap((kind) => (kind.status === 'fulfilled' ? kind.value : [])),
      );
      return pTimeout(both, { milliseconds: otherKindMs, fallback: () => found });
    }
    for (const answer of await answers) {
      if (answer.status === 'rejected' && !asksSystem(answer.reason)) throw answer.reason;
    }
    // Such a name needs no turn, so the names of other merchants do not delay it.
    const known = await readHosts(hostsFile, name);
    return known.length > 0 ? known : lookUpInTurn(name, owner);
  };
}

/**
 * Resolves one name of an owner at a time, so that a second owner need not wait, and one name of all slow owners. A name that waits too long for
 * its turn is not looked up, because its attempt is over.
 */
function takingTurns(
  lookUp: Resolve,
  turnWithinMs: number,
  monotonicMs: () => number,
): (name: string, owner: string) => ReturnType<Resolve> {
  const inTurn = createFairCalls({ maxRunning: 2, maxWaiting: Infinity });
  const slowUntilMs = new Map<string, number>();
  const isSlow = (owner: string): boolean => {
    if ((slowUntilMs.get(owner) ?? 0) > monotonicMs()) return true;
    slowUntilMs.delete(owner);
    return false;
  };
  const turnOf = async (owner: string): Promise<() => void> => {
    const wasSlow = isSlow(owner);
    const caller = wasSlow ? { owner: 'slow', part: owner } : { owner };
    const end = await takeTurn(inTurn, { ...caller, maxWaitMs: turnWithinMs }, { aborted: false });
    if (wasSlow || !isSlow(owner)) return end;
    end();
    return turnOf(owner);
  };
  return async (name, owner) => {
    const endTurn = await turnOf(owner).catch(() => {
      throw Object.assign(
        new Error('the DNS lookups of other names took too long, so this name was not looked up'),
        { code: TIMEOUT },
      );
    });
    const startMs = monotonicMs();
    try {
      return await lookUp(name);
    } finally {
      const tookMs = monotonicMs() - startMs;
      if (tookMs > slowMs) slowUntilMs.set(owner, monotonicMs() + slowFactor * tookMs);
      endTurn();
    }
  };
}
