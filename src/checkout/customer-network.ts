import ipaddr from 'ipaddr.js';

/**
 * The network of a customer: the address for IPv4, and the /64 network for IPv6, because one subscriber has a whole /64.
 * '' for a text that is not an address.
 */
export function networkOf(ip: string): string {
  if (!ipaddr.isValid(ip)) return '';
  const address = ipaddr.process(ip);
  return address.kind() === 'ipv4' ? address.toString() : address.toByteArray().slice(0, 8).join('.');
}
