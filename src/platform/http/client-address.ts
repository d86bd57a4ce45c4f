import type { IncomingHttpHeaders } from 'node:http';
import ipaddr from 'ipaddr.js';

/**
 * The network by which a client is counted: its IPv4 address, or its IPv6 network of the size /64. One subscriber has a whole /64. '' for
 * a text that is not an address, such as that of a client that has disconnected.
 */
export function networkOf(ip: string): string {
  if (!ipaddr.isValid(ip)) return '';
  const address = ipaddr.process(ip);
  return address.kind() === 'ipv4' ? address.toString() : address.toByteArray().slice(0, 8).join('.');
}

/**
 * The site by which unknown callers are counted and share a queue: the IPv4 address, or the IPv6 network of the size /48. A provider may give one
 * customer all /64 networks of a /48. '' for a text that is not an address.
 */
export function siteOf(ip: string): string {
  const network = networkOf(ip);
  return ipaddr.isValid(ip) && ipaddr.process(ip).kind() === 'ipv6'
    ? network.split('.').slice(0, 6).join('.')
    : network;
}

/** An entry with a port or in brackets, such as 192.0.2.1:4711, [2001:db8::1]:4711 or [2001:db8::1]. */
const addressWithPort = /^(?:(\d{1,3}(?:\.\d{1,3}){3}):\d+|\[([^\]]+)\](?::\d+)?)$/;

/**
 * Removes the ports from X-Forwarded-For. Some balancers, such as the Application Gateway of Azure, append the client's port.
 * Without its removal, no entry would be an address, and all clients would be counted together.
 */
export function removeForwardedPorts(headers: IncomingHttpHeaders): void {
  const forwarded = headers['x-forwarded-for'];
  if (typeof forwarded !== 'string' || !forwarded.includes(':')) return;
  headers['x-forwarded-for'] = forwarded
    .split(',')
    .map((entry) => entry.trim().replace(addressWithPort, '$1$2'))
    .join(', ');
}
