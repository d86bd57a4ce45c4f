import type { Logger } from '../logger.ts';

/** Whether a host, as in a URL or an address, is this machine. So is a Unix socket, whose host is its folder: %2Frun%2Fpostgresql. */
export const isLoopback = (host: string): boolean =>
  /^(%2F.*|localhost|127(\.\d{1,3}){3}|\[?::1\]?|\[?::ffff:127(\.\d{1,3}){3}\]?)$/i.test(host);

/** Warns when secrets travel to another machine without TLS. `hosts`: without ports. `what` begins the sentence. */
export function warnOfPlaintext(
  logger: Logger,
  {
    what,
    hosts,
    remedy,
  }: { readonly what: string; readonly hosts: readonly string[]; readonly remedy: string },
): void {
  const others = hosts.filter((host) => !isLoopback(host));
  if (others.length > 0)
    logger.warn(
      { hosts: others },
      `${what} travels without TLS beyond this machine, where others on the network can read it; ${remedy}`,
    );
}

/** The host of `host:port` or `dns:///host:port`. */
export const hostOf = (address: string): string => address.replace(/^dns:\/\/\//, '').replace(/:\d+$/, '');
