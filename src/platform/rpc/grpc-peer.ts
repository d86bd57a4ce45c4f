import type { TLSSocket } from 'node:tls';
import type { ServerUnaryCall } from '@grpc/grpc-js';
import {
  expiredPeerCertificate,
  hasExpiredCertificate,
  noPeerCertificate,
  verifiedPeer,
} from '../tls/peer-certificate.ts';
import type { PeerCertificate } from '../tls/peer-certificate.ts';

type AnyCall = Pick<ServerUnaryCall<unknown, unknown>, 'getAuthContext' | 'getPeer'>;

/** The open connections with an expired client certificate, as `getPeer` names them. */
const expiredPeers = new Set<string>();

/** Remembers a connection with an expired client certificate, for the error of its calls. */
export function rememberExpired(socket: TLSSocket): void {
  if (!hasExpiredCertificate(socket)) return;
  const peer = `${socket.remoteAddress}:${socket.remotePort}`;
  expiredPeers.add(peer);
  socket.once('close', () => expiredPeers.delete(peer));
}

/** grpc-js gives the certificate only if one of our authorities signed it. */
export function peerOf(call: Pick<AnyCall, 'getAuthContext'>): PeerCertificate {
  const { sslPeerCertificate } = call.getAuthContext();
  return sslPeerCertificate === undefined
    ? noPeerCertificate
    : verifiedPeer(sslPeerCertificate.subjectaltname);
}

/** The same for a call, which also tells an expired certificate from none. */
export function callerOf(call: AnyCall): PeerCertificate {
  const peer = peerOf(call);
  return !peer.isVerified && expiredPeers.has(call.getPeer()) ? expiredPeerCertificate : peer;
}
