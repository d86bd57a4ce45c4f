import type { IncomingMessage } from 'node:http';

/** A problem with the head of a request, for the developer of the client. */
export interface HttpProblem {
  /** The header, or `request` for the first line. */
  readonly field: 'request' | 'Host' | 'Transfer-Encoding';
  readonly issue: string;
}

/** `uri-host [":" port]` (RFC 9110, section 7.2). The host may be empty. */
const hostForm = /^(?:\[[0-9a-f:.]+\]|[\w.~!$&'()*+;=%-]*)(?::[0-9]*)?$/i;

/**
 * Finds violations of HTTP that Node's parser accepts. A proxy may interpret such a request in another way.
 * Versions: 1.1 and 1.0. Targets: without a fragment (RFC 9112, section 3.2). Hosts: exactly one, and a valid one (the same section).
 * Transfer codings: chunked alone, and none in HTTP/1.0 (section 6.1).
 */
export function httpProblemOf(
  request: Pick<IncomingMessage, 'rawHeaders' | 'httpVersion' | 'headers' | 'url'>,
): HttpProblem | undefined {
  const { rawHeaders, headers, httpVersion, url = '' } = request;
  // Node's parser also accepts 0.9 and 2.0 here.
  if (httpVersion !== '1.1' && httpVersion !== '1.0')
    return { field: 'request', issue: 'must use HTTP/1.1 or HTTP/1.0' };
  if (url.includes('#')) return { field: 'request', issue: 'must have a path without #' };
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  if (hosts > 1) return { field: 'Host', issue: 'must be given once' };
  if (hosts === 0 && httpVersion === '1.1') return { field: 'Host', issue: 'is required' };
  if (hosts === 1 && !hostForm.test(headers.host ?? ''))
    return { field: 'Host', issue: 'must be a host, and a port if it is not the standard one' };
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && httpVersion === '1.0')
    return { field: 'Transfer-Encoding', issue: 'must be left out in HTTP/1.0; send Content-Length' };
  if (coding !== undefined && coding.toLowerCase() !== 'chunked')
    return { field: 'Transfer-Encoding', issue: 'must be chunked, or left out' };
  return undefined;
}
