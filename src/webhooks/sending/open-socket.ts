import type { LookupFunction, Socket } from 'node:net';
import { connect as connectTcp } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { connect as connectTls } from 'node:tls';
import type { AddressGuard } from './public-address.ts';
import type { Resolve } from './resolve-host.ts';
import { addressIn, allowedAddresses } from './resolve-host.ts';

/** How connections are made. */
export interface ConnectSettings {
  readonly resolve: Resolve;
  readonly isAllowed: AddressGuard;
  /** How long a connection may take: name, TCP and TLS together. */
  readonly connectMs: number;
  /** Certificate authorities to trust; those that come with Node.js when absent. */
  readonly ca?: ConnectionOptions['ca'];
}

/** What a connection is being made of. */
export type ConnectPhase = 'resolving' | 'connecting' | 'handshaking';

/** The connection was not there in time. */
export class ConnectTimeoutError extends Error {}

/**
 * Connects to a URL's host, with TLS when it is https: to addresses that were looked at right before and to no others,
 * whatever the name resolves to a moment later.
 *
 * @throws NameNotResolvedError, AddressNotAllowedError, ConnectTimeoutError, the signal's reason, or what Node.js has to
 * say of TCP and TLS
 */
export async function openSocket(
  url: URL,
  settings: ConnectSettings,
  signal: AbortSignal,
  onPhase: (phase: ConnectPhase) => void,
): Promise<Socket> {
  const given = Promise.withResolvers<never>();
  const timer = setTimeout(() => given.reject(new ConnectTimeoutError()), settings.connectMs);
  const stop = () => given.reject(signal.reason);
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  let socket: Socket | undefined;
  try {
    onPhase('resolving');
    const checked = allowedAddresses(url.hostname, settings.resolve, settings.isAllowed);
    const addresses = await Promise.race([checked, given.promise]);
    onPhase('connecting');
    socket = startSocket(url, addresses, settings);
    return await Promise.race([connected(socket, onPhase), given.promise]);
  } catch (error) {
    socket?.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  }
}

function startSocket(url: URL, addresses: readonly string[], settings: ConnectSettings): Socket {
  const isSecure = url.protocol === 'https:';
  const literal = addressIn(url.hostname);
  const options = {
    host: literal ?? url.hostname,
    port: Number(url.port || (isSecure ? 443 : 80)),
    // Not asked about an IP address, which was looked at all the same.
    lookup: answering(addresses),
    autoSelectFamily: true,
    // Node.js leaves an address for the next one after this long; its own 250 ms are less than some countries' round trip.
    autoSelectFamilyAttemptTimeout: Math.max(10, Math.floor(settings.connectMs / 5)),
    noDelay: true,
  };
  if (!isSecure) return connectTcp(options);
  return connectTls({
    ...options,
    // RFC 6066, 3: a name without its final dot, and never an address.
    ...(literal === undefined ? { servername: url.hostname.replace(/\.$/, '') } : {}),
    ...(settings.ca === undefined ? {} : { ca: settings.ca }),
    ALPNProtocols: ['http/1.1'],
    rejectUnauthorized: true,
  });
}

const answering =
  (addresses: readonly string[]): LookupFunction =>
  (_hostname, _options, done) => {
    done(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  };

function connected(socket: Socket, onPhase: (phase: ConnectPhase) => void): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const isSecure = 'encrypted' in socket;
    // Stays for as long as the socket does: whoever has given up on it does not want to hear of its end.
    socket.on('error', reject);
    socket.once('close', () => reject(Object.assign(new Error('closed'), { code: 'ECONNRESET' })));
    socket.once('connect', () => {
      if (isSecure) onPhase('handshaking');
      else resolve(socket);
    });
    if (isSecure) socket.once('secureConnect', () => resolve(socket));
  });
}
