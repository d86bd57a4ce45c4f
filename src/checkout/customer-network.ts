import ipaddr from 'ipaddr.js';

/**
 * The address itself for IPv4; the /64 for IPv6, which one subscriber has to itself and can change within at will. '' for what
 * is no address.
 */
export function networkOf(ip: string): string {
  if (!ipaddr.isValid(ip)) return '';
  const address = ipaddr.process(ip);
  return address.kind() === 'ipv4' ? address.toString() : address.toByteArray().slice(0, 8).join('.');
}
