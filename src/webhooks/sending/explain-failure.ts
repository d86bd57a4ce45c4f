import { codeOf, isError } from '../../platform/error-code.ts';
import type { AttemptWords } from './explain-answer.ts';
import { nameStatus } from './explain-answer.ts';
import type { ConnectPhase } from './open-socket.ts';
import { ConnectTimeoutError } from './open-socket.ts';
import { EndlessHeadersError } from './pinned-connection.ts';
import { AddressNotAllowedError, hiddenCauseOf, NameNotResolvedError } from './resolve-host.ts';

/** The error codes when this process or its machine has no file descriptor or memory left for a connection. */
const exhaustedCodes: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM']);

/** An attempt without a complete response. */
export interface FailedAttempt {
  readonly url: URL;
  /** The status of an incomplete response; 0 without one. */
  readonly status: number;
  /** The phase that the connection reached. */
  readonly phase: ConnectPhase | 'connected';
  /** Whether the attempt reached its time limit. */
  readonly isTooLate: boolean;
  readonly totalMs: number;
  readonly connectMs: number;
}

const lostCodes: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/** Whether the receiver or the network closed an established connection. */
export const isConnectionLost = (error: unknown): boolean => lostCodes.has(codeOf(error));

/**
 * Whether Gatehouse could not open a connection, neither to the receiver nor to its own name servers. This says nothing about the
 * receiver. c-ares reports ECONNREFUSED when it reaches no name server, even for lack of a file descriptor. A name
 * server that refuses the question gives EREFUSED.
 */
export const isOwnFailure = (error: unknown, phase: FailedAttempt['phase']): boolean =>
  error instanceof NameNotResolvedError
    ? error.code === 'ECONNREFUSED'
    : phase === 'connecting' && exhaustedCodes.has(codeOf(error));

/**
 * Explains a failure to the merchant's developer. The text contains no part of the request, the response, or the
 * resolved addresses. An unknown name and a name with a private address give the same text. Otherwise a merchant could
 * discover names in the operator's network with a webhook_url.
 */
export function explainFailure(error: unknown, attempt: FailedAttempt): AttemptWords {
  const { url, phase } = attempt;
  if (hiddenCauseOf(error, url.hostname) !== undefined) {
    return {
      result: 'NAME_NOT_RESOLVED',
      detail: `${url.hostname} has no address on the public internet, so nothing was sent: check the name and its DNS records (A, AAAA)`,
    };
  }
  if (error instanceof AddressNotAllowedError) {
    return {
      result: 'ADDRESS_NOT_ALLOWED',
      detail: `${url.hostname} is not an address on the public internet, so nothing was sent`,
    };
  }
  if (error instanceof NameNotResolvedError) {
    return {
      result: 'NAME_NOT_RESOLVED',
      detail: `the DNS lookup of ${url.hostname} failed (${error.code})`,
    };
  }
  const isLate = attempt.isTooLate || error instanceof ConnectTimeoutError;
  if (isLate)
    return tooLate(attempt, error instanceof ConnectTimeoutError ? attempt.connectMs : attempt.totalMs);
  const code = codeOf(error);
  switch (phase) {
    case 'resolving':
    case 'connecting':
      return { result: 'CONNECTION_FAILED', detail: explainUnconnected(code, url) };
    case 'handshaking':
      return { result: 'TLS_FAILED', detail: explainUntrusted(code, url) };
    case 'connected':
      // With TLS 1.3, a server rejects the client after the client considers the connection established.
      return code.startsWith('ERR_SSL_')
        ? { result: 'TLS_FAILED', detail: explainUntrusted(code, url) }
        : explainBroken(error, code, attempt);
  }
}

function tooLate({ url, phase, status, totalMs }: FailedAttempt, ms: number): AttemptWords {
  const within = `within ${ms / 1000} s`;
  switch (phase) {
    case 'resolving':
      return {
        result: 'NAME_NOT_RESOLVED',
        detail: `the DNS lookup of ${url.hostname} did not finish ${within}`,
      };
    case 'connecting':
      return {
        result: 'CONNECTION_FAILED',
        detail: `no connection to ${hostAndPort(url)} ${within}: check that the host is up and that its firewall allows Gatehouse`,
      };
    case 'handshaking':
      return {
        result: 'TLS_FAILED',
        detail: `${hostAndPort(url)} did not complete the TLS handshake ${within}`,
      };
    case 'connected':
      return {
        result: 'TIMED_OUT',
        detail:
          status === 0
            ? `no response within ${totalMs / 1000} s: answer 2xx as soon as the webhook is stored, and process it afterwards`
            : `answered ${nameStatus(status)}, but its body did not end within ${totalMs / 1000} s`,
      };
  }
}

function explainUnconnected(code: string, url: URL): string {
  const there = hostAndPort(url);
  switch (code) {
    case 'ECONNREFUSED':
      return `${there} refused the connection: nothing listens on that port, or a firewall rejects connections`;
    case 'ECONNRESET':
    case 'ECONNABORTED':
    case 'EPIPE':
      return `${there} closed the connection before it was established`;
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
    case 'EHOSTDOWN':
    case 'ENETDOWN':
      return `there is no route to ${there} (${code})`;
    case 'ETIMEDOUT':
      return `no connection to ${there}: check that the host is up and that its firewall allows Gatehouse`;
    case 'EACCES':
    case 'EPERM':
    case 'EADDRNOTAVAIL':
    case 'EADDRINUSE':
      return `Gatehouse could not open a connection (${code}). Nothing was sent to the receiver`;
    default:
      return `no connection to ${there} (${code})`;
  }
}

function explainUntrusted(code: string, url: URL): string {
  switch (code) {
    case 'CERT_HAS_EXPIRED':
      return `the certificate of ${url.hostname} has expired: renew it`;
    case 'CERT_NOT_YET_VALID':
      return `the certificate of ${url.hostname} is not valid yet`;
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return `the certificate is not for ${url.hostname}: it must name the host of the URL`;
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
      return `the certificate of ${url.hostname} is self-signed: get one from a public certificate authority`;
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
      return `the certificate of ${url.hostname} was not issued by a publicly trusted authority, or the server does not send the intermediate certificates`;
    case 'ERR_SSL_WRONG_VERSION_NUMBER':
    case 'ERR_SSL_PACKET_LENGTH_TOO_LONG':
    case 'ERR_SSL_HTTP_REQUEST':
      return `${hostAndPort(url)} does not speak TLS: check the scheme and port of the URL`;
    case 'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE':
      return `${hostAndPort(url)} offers no cipher of TLS that Gatehouse accepts: offer TLS 1.3, or TLS 1.2 with ECDHE`;
    case 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL':
      return `${hostAndPort(url)} accepts no HTTP/1.1 over TLS: let it also accept HTTP/1.1, for example beside HTTP/2`;
    case 'ECONNRESET':
      return `${hostAndPort(url)} closed the connection during the TLS handshake`;
    default:
      return `TLS with ${hostAndPort(url)} failed (${code})`;
  }
}

/** undici's words for informational responses after which it closes the connection. Their code is that of a lost connection. */
const unaskedStatuses: ReadonlyMap<string, number> = new Map([
  ['bad response', 100],
  ['bad upgrade', 101],
]);

/** Explains the failure of an established connection. An unreadable response does not count as a lost connection. */
function explainBroken(error: unknown, code: string, { url, status }: FailedAttempt): AttemptWords {
  const begun = status === 0 ? '' : `answered ${nameStatus(status)}, but `;
  const unreadable = (detail: string): AttemptWords => ({ result: 'UNREADABLE', detail });
  const lost = (detail: string): AttemptWords => ({ result: 'CONNECTION_FAILED', detail });
  if (error instanceof EndlessHeadersError) {
    return unreadable(
      `${hostAndPort(url)} sent 256 KiB before its response headers ended: send at most a few informational responses (1xx), and then the response`,
    );
  }
  if (isNotHttp(code))
    return unreadable(
      `${begun}the response of ${hostAndPort(url)} is not HTTP/1.1${hintAtProtocol(error, url) || parserReason(error)}`,
    );
  const unasked = isError(error) ? unaskedStatuses.get(error.message) : undefined;
  if (unasked !== undefined)
    return unreadable(
      `${hostAndPort(url)} answered ${nameStatus(unasked)}, which Gatehouse did not request: answer 2xx at once`,
    );
  switch (code) {
    case 'UND_ERR_HEADERS_OVERFLOW':
      return unreadable(
        status === 0
          ? 'the response headers are larger than 16 KiB: send fewer or smaller headers'
          : `${begun}the trailers after its body are larger than 16 KiB: send fewer or smaller trailers`,
      );
    case 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH':
      // Before the body, undici gives this code to every error in a header that follows Content-Length.
      return unreadable(
        status === 0
          ? `the response of ${hostAndPort(url)} is not HTTP/1.1: after Content-Length it has an invalid header, a second Content-Length, or Transfer-Encoding`
          : `${begun}the length of its body differs from its Content-Length`,
      );
    case 'UND_ERR_SOCKET':
    case 'UND_ERR_CLOSED':
    case 'UND_ERR_DESTROYED':
    case 'ECONNRESET':
    case 'ECONNABORTED':
    case 'EPIPE':
      return lost(
        status === 0
          ? `${hostAndPort(url)} closed the connection without a usable response`
          : `${begun}the connection was closed before the end of the body`,
      );
    case 'ETIMEDOUT':
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
    case 'ENETDOWN':
      return lost(`${begun}the network lost the connection to ${hostAndPort(url)} (${code})`);
    default:
      return lost(`${begun}the connection to ${hostAndPort(url)} failed (${code})`);
  }
}

/** undici's parser refuses an answer that breaks the grammar of HTTP. An assertion of undici refuses a status that HTTP does not have, such as 000. */
const isNotHttp = (code: string): boolean =>
  code.startsWith('HPE_') || code === 'HTTPParserError' || code === 'ERR_ASSERTION';

/** The protocol that the server began instead. */
function hintAtProtocol(error: unknown, url: URL): string {
  if (!isError(error) || !('data' in error)) return '';
  const data = String(error.data);
  // An alert record: type 21, version 3.
  if (url.protocol === 'http:' && data.startsWith('\u0015\u0003'))
    return ': the server speaks TLS, so use https in the URL';
  // The first frame of an HTTP/2 server: SETTINGS, type 4, after three bytes of its length. A few settings are shorter than 256 bytes.
  return data.startsWith('\0\0') && data[3] === '\u0004'
    ? ': the server speaks HTTP/2 only, so let it also accept HTTP/1.1'
    : '';
}

/** The rule of HTTP that the response breaks, in the parser's fixed words, which quote nothing of the response. */
function parserReason(error: unknown): string {
  const [, reason] = isError(error) ? (/HTTP\/1\.1 protocol \((.+)\)$/.exec(error.message) ?? []) : [];
  return reason === undefined ? '' : `: ${reason}`;
}

const hostAndPort = (url: URL): string =>
  `${url.hostname}:${url.port || (url.protocol === 'https:' ? '443' : '80')}`;
