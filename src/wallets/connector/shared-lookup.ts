import { TIMEOUT } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { isIP } from 'node:net';
import { codeOf, isError } from '../../platform/error-code.ts';
import { readHosts } from '../../platform/read-hosts.ts';
import { createResolve } from '../../platform/resolve-name.ts';

/**
 * Whether the system is asked after an error of the name servers. It is, unless they were silent. The system also knows the short names of
 * a cluster, for which name servers report an error if they reach no others.
 */
export const asksSystem = (error: unknown): boolean => codeOf(error) !== TIMEOUT;

/**
 * Looks up host names in the hosts file first, then asks the name servers directly. The system's lookup blocks one of few threads until the
 * name servers answer, which is ten seconds or more if they do not. Two wallets whose name servers are silent would block all
 * lookups, and no connection to another wallet could be opened. So the system is asked only about names that the
 * name servers do not find, about one name at a time.
 *
 * Each name is looked up only once at a time: later calls get the answer of the one that runs. The options `family` and `hints` have no effect.
 */
export function createSharedLookup(
  resolve = createResolve({ asksSystem }),
  hostsFile = '/etc/hosts',
): LookupFunction {
  const running = new Map<string, Promise<readonly string[]>>();
  const find = async (name: string): Promise<readonly string[]> => {
    const known = await readHosts(hostsFile, name);
    return known.length > 0 ? known : resolve(name);
  };
  return (hostname, { all }, whenFound) => {
    const name = hostname.toLowerCase().replace(/\.$/, '');
    const addresses = running.get(name) ?? find(name).finally(() => running.delete(name));
    running.set(name, addresses);
    addresses.then(
      (found) => {
        const answers = found.map((address) => ({ address, family: isIP(address) }));
        const [first] = answers;
        if (all === true || first === undefined) whenFound(null, answers);
        else whenFound(null, first.address, first.family);
      },
      (error: unknown) => whenFound(isError(error) ? error : new Error(String(error)), ''),
    );
  };
}
