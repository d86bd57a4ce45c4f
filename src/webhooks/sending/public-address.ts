import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Whether a connection to an IP address may be made. */
export type AddressGuard = (address: string) => boolean;

/** All IPv6 addresses that are assigned as global unicast. The other addresses are not routed or embed an IPv4 address. */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');

/** This address is public only by number. Inside Azure it is the host's own service (WireServer), which returns credentials. */
const wireServer = '168.63.129.16';

/**
 * Whether an IP address belongs to another host on the public internet.
 *
 * False for every special-purpose range of the IANA registries: this host, loopback, private, shared (RFC 6598),
 * link-local with or without a zone, multicast, broadcast, documentation, benchmarking and reserved. False for all
 * addresses that embed an IPv4 address (mapped, compatible, translated, NAT64, 6to4, Teredo), whichever it is. False
 * for everything that is not an IP address in its canonical form.
 *
 * @see https://www.iana.org/assignments/iana-ipv4-special-registry and iana-ipv6-special-registry
 */
export function isPublicAddress(text: string): boolean {
  const address = readAddress(text);
  if (address?.range() !== 'unicast') return false;
  return address instanceof ipaddr.IPv6 ? address.match(globalUnicast) : address.toString() !== wireServer;
}

/**
 * A guard that allows public addresses and those in `networks`, which are addresses or networks such as 10.0.0.0/8. An
 * IPv4 network does not include the IPv6 addresses that embed its addresses.
 *
 * @throws when a network is invalid
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

/** Strict parsing. ipaddr.js alone reads 010.0.0.1 as 8.0.0.1, while the connecting code might read it as 10.0.0.1. */
function readAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  return isIP(text) === 0 ? undefined : ipaddr.parse(text);
}

function isWithin(
  address: ipaddr.IPv4 | ipaddr.IPv6,
  [network, bits]: [ipaddr.IPv4 | ipaddr.IPv6, number],
): boolean {
  return address.kind() === network.kind() && address.match(network, bits);
}
