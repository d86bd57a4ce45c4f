import { constants } from 'node:crypto';
import type { LookupFunction, Socket } from 'node:net';
import { connect as connectTcp } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { DEFAULT_CIPHERS, connect as connectTls } from 'node:tls';
import type { AddressGuard } from './public-address.ts';
import type { Resolve } from '../../platform/resolve-name.ts';
import { addressIn, allowedAddresses } from './resolve-host.ts';

/** Settings for new connections. */
export interface ConnectSettings {
  readonly resolve: Resolve;
  readonly isAllowed: AddressGuard;
  /** The time limit for a connection: DNS, TCP and TLS together. */
  readonly connectMs: number;
  /** Trusted certificate authorities; Node.js's own when absent. */
  readonly ca?: ConnectionOptions['ca'];
}

/** The phase of a connection attempt. */
export type ConnectPhase = 'resolving' | 'connecting' | 'handshaking';

/** The connection reached its time limit. */
export class ConnectTimeoutError extends Error {}

/**
 * Connects to a URL's host, with TLS for https. It connects only to addresses that were just checked. A later change of
 * the DNS name has no effect.
 *
 * @throws NameNotResolvedError, AddressNotAllowedError, ConnectTimeoutError, the signal's reason, or a TCP or TLS error
 * of Node.js
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
    return await Promise.race([untilConnected(socket, onPhase), given.promise]);
  } catch (error) {
    socket?.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  }
}

/**
 * A malicious receiver may try to occupy the process. With DHE, the receiver chooses a prime of up to 10,000 bits, and each handshake takes
 * a second of processor time. No browser offers DHE. The receiver could also request a new handshake again and again.
 */
const boundedTls: ConnectionOptions = {
  ciphers: `${DEFAULT_CIPHERS}:!kDHE`,
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
};

function startSocket(url: URL, addresses: readonly string[], settings: ConnectSettings): Socket {
  const isSecure = url.protocol === 'https:';
  const literal = addressIn(url.hostname);
  const options = {
    host: literal ?? url.hostname,
    port: Number(url.port || (isSecure ? 443 : 80)),
    // Node.js does not call this for an IP address, which was checked as well.
    lookup: lookupOf(addresses),
    autoSelectFamily: true,
    // Node.js tries the next address after this time. Its default of 250 ms is shorter than some countries' round trip.
    autoSelectFamilyAttemptTimeout: Math.max(10, Math.floor(settings.connectMs / 5)),
    noDelay: true,
  };
  if (!isSecure) return connectTcp(options);
  return connectTls({
    ...options,
    ...boundedTls,
    // RFC 6066, 3: SNI is a name without its final dot, never an address.
    ...(literal === undefined ? { servername: url.hostname.replace(/\.$/, '') } : {}),
    ...(settings.ca === undefined ? {} : { ca: settings.ca }),
    ALPNProtocols: ['http/1.1'],
    rejectUnauthorized: true,
  });
}

const lookupOf =
  (addresses: readonly string[]): LookupFunction =>
  (_hostname, _options, done) => {
    done(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  };

function untilConnected(socket: Socket, onPhase: (phase: ConnectPhase) => void): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const isSecure = 'encrypted' in socket;
    // The listener stays for the socket's lifetime, because an error after an abort must not be unhandled.
    socket.on('error', reject);
    socket.once('close', () => reject(Object.assign(new Error('closed'), { code: 'ECONNRESET' })));
    socket.once('connect', () => {
      if (isSecure) onPhase('handshaking');
      else resolve(socket);
    });
    if (isSecure) socket.once('secureConnect', () => resolve(socket));
  });
}
