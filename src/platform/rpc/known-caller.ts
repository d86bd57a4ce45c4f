import { roleOfCertificate } from '../tls/peer-certificate.ts';
import type { PeerCertificate, PeerRules } from '../tls/peer-certificate.ts';
import { authenticateService } from './service-tokens.ts';
import type { ServiceTokens } from './service-tokens.ts';

/** Whether a call has a known service token, or its connection a client certificate that names a role. */
export type IsKnownCaller = (authorization: string | null, peer: PeerCertificate) => boolean;

/**
 * The largest message of an unknown caller. The guard refuses a call only after its message was decoded. Decoding 4 MiB of
 * tiny items takes seconds and hundreds of MiB, during which the process answers no call.
 */
export const maxUnknownCallerBytes = 4 * 1024;

/** The advice to a refused caller. */
export const unknownCallerAdvice =
  'send "authorization: Bearer <service token>" with a token this server knows; ' +
  `without one, a message may have at most ${maxUnknownCallerBytes} bytes`;

/** The largest message that a caller may send, in bytes: `maxUnknownCallerBytes` for an unknown one. */
export type MaxBytesOfCaller = (authorization: string | null, peer: PeerCertificate) => number;

/** The role of the call's token, or else of its client certificate; undefined for an unknown caller. */
function createRoleOf(tokens: ServiceTokens, peers: PeerRules | undefined) {
  return (authorization: string | null, peer: PeerCertificate): string | undefined => {
    const role = authenticateService(tokens, authorization);
    if (role !== undefined || peers === undefined) return role;
    const certified = roleOfCertificate(peer, peers);
    return 'role' in certified ? certified.role : undefined;
  };
}

export function createIsKnownCaller(tokens: ServiceTokens, peers: PeerRules | undefined): IsKnownCaller {
  const roleOf = createRoleOf(tokens, peers);
  return (authorization, peer) => roleOf(authorization, peer) !== undefined;
}

/** `maxBytesOfRole` gives the largest message of a role. */
export function createMaxBytesOfCaller(
  tokens: ServiceTokens,
  peers: PeerRules | undefined,
  maxBytesOfRole: (role: string) => number,
): MaxBytesOfCaller {
  const roleOf = createRoleOf(tokens, peers);
  return (authorization, peer) => {
    const role = roleOf(authorization, peer);
    return role === undefined ? maxUnknownCallerBytes : maxBytesOfRole(role);
  };
}
