/** What the wallet knows a request by: a request state while it is decided, or the transaction it has become. */
export interface ProviderReference {
  readonly collection: 'requeststates' | 'transactions';
  readonly id: string;
}

/** As it is kept: the path of the resource, escaped, relative to the base URL. */
export const writeReference = ({ collection, id }: ProviderReference): string =>
  `${collection}/${encodeURIComponent(id)}`;

const requestStateId = /^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$/;

/**
 * Reads a kept reference, or the `link` of `GET /responses/{id}`, which is a path or a URL ending in one. Only the last
 * two segments count: a link never makes us talk to another host or another resource. Undefined when it names none.
 */
export function readReference(link: string): ProviderReference | undefined {
  const match = /(?:^|\/)(requeststates|transactions)\/([^/?#]{1,768})\/?$/.exec(link);
  const id = unescape(match?.[2]);
  if (id === undefined) return undefined;
  if (match?.[1] === 'requeststates') {
    return requestStateId.test(id) ? { collection: 'requeststates', id } : undefined;
  }
  return isTransactionId(id) ? { collection: 'transactions', id } : undefined;
}

/** Whether a transaction reference can stand in a path: visible ASCII, at most 256, and not a step up or on the spot. */
export const isTransactionId = (id: string): boolean =>
  /^[\x21-\x7e]{1,256}$/.test(id) && id !== '.' && id !== '..';

function unescape(segment: string | undefined): string | undefined {
  if (segment === undefined) return undefined;
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
