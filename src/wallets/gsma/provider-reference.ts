/** The wallet's reference of a request: its request state, or its transaction once it exists. */
export interface ProviderReference {
  readonly collection: 'requeststates' | 'transactions';
  readonly id: string;
}

/** The stored form: the escaped path of the resource, relative to the base URL. */
export const writeReference = ({ collection, id }: ProviderReference): string =>
  `${collection}/${encodeURIComponent(id)}`;

const requestStateId = /^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$/;

/**
 * Reads a stored reference, or the `link` of `GET /responses/{id}`, which is a path or a URL. Only the last two segments are
 * used, so that a link cannot lead to another host or resource. Undefined when it names no reference.
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

/** Whether a transaction reference is safe in a path: visible ASCII, at most 256 characters, and neither `.` nor `..`. */
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
