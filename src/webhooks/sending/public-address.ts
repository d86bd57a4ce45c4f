import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Whether a connection to an IP address may be made. */
export type AddressGuard = (address: string) => boolean;

/** All of IPv6 that is assigned as global unicast: what is outside of it either is not routed or embeds an IPv4 address. */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');

/** A public address by number only: inside Azure it is the host's own service (WireServer), which hands out credentials. */
const wireServer = '168.63.129.16';

/**
 * Whether an IP address is one that the public internet routes to somebody else.
 *
 * False for every special-purpose range of the IANA registries: this host, loopback, private, shared (RFC 6598), link-local
 * with or without a zone, multicast, broadcast, documentation, benchmarking, reserved, and for all addresses that carry an
 * IPv4 address inside (mapped, compatible, translated, NAT64, 6to4, Teredo), whatever that one is. False as well for
 * everything that is not an IP address in its one usual spelling.
 *
 * @see https://www.iana.org/assignments/iana-ipv4-special-registry and iana-ipv6-special-registry
 */
export function isPublicAddress(text: string): boolean {
  const address = readAddress(text);
  if (address?.range() !== 'unicast') return false;
  return address instanceof ipaddr.IPv6 ? address.match(globalUnicast) : address.toString() !== wireServer;
}

/**
 * A guard that lets public addresses pass, and those in `networks`: addresses, or networks such as 10.0.0.0/8. An IPv4
 * network does not extend to the IPv6 addresses that carry its addresses inside.
 *
 * @throws when a network cannot be read
 */
export function guardAddresses(networks: readonly string[]): AddressGuard {
  const allowed = networks.map((network) =>
    ipaddr.parseCIDR(network.includes('/') ? network : `${network}/${isIP(network) === 4 ? 32 : 128}`),
  );
  return (text) => {
    if (isPublicAddress(text)) return true;
    const address = readAddress(text);
    return address !== undefined && allowed.some((network) => isWithin(address, network));
  };
}

/** Strict: ipaddr.js alone would take 010.0.0.1 for 8.0.0.1, and who connects might take it for 10.0.0.1. */
function readAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  return isIP(text) === 0 ? undefined : ipaddr.parse(text);
}

function isWithin(
  address: ipaddr.IPv4 | ipaddr.IPv6,
  [network, bits]: [ipaddr.IPv4 | ipaddr.IPv6, number],
): boolean {
  return address.kind() === network.kind() && address.match(network, bits);
}
