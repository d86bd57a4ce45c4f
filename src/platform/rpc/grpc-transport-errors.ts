import type { OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { encodeStatus, toStatus } from './rpc-error.ts';
import { transportError } from './transport-error.ts';

/**
 * Adds a reason to every error that grpc-js itself sends on this stream, such as an unknown method or a message that is too large. grpc-js
 * calls no interceptor for these errors, so this adds the reason to the trailers as they are sent.
 */
export function explainTransportErrors(stream: ServerHttp2Stream): void {
  const respond = stream.respond.bind(stream);
  const sendTrailers = stream.sendTrailers.bind(stream);
  stream.respond = (headers, options) => respond(headers && withReason(headers), options);
  stream.sendTrailers = (trailers) => sendTrailers(withReason(trailers));
}

function withReason<Headers extends OutgoingHttpHeaders | readonly string[]>(sent: Headers): Headers {
  if (!('grpc-status' in sent) || 'grpc-status-details-bin' in sent) return sent;
  const code = Number(sent['grpc-status']);
  if (code === 0) return sent;
  const error = transportError(code, decoded(String(sent['grpc-message'] ?? '')));
  return {
    ...sent,
    'grpc-status': error.code,
    'grpc-message': encodeURI(error.rawMessage),
    'grpc-status-details-bin': encodeStatus(toStatus(error)).toString('base64'),
  };
}

/** grpc-js encodes the message of every error except that of an unknown method, whose path the caller chooses. */
function decoded(message: string): string {
  try {
    return decodeURI(message);
  } catch {
    return message;
  }
}
