import { Code } from '@connectrpc/connect';
import type { ConnectError } from '@connectrpc/connect';
import { maxUnknownCallerBytes, unknownCallerAdvice } from './known-caller.ts';
import { rpcError } from './rpc-error.ts';

/**
 * Gives an error of grpc-js or connect-node itself a reason, and a text that says what to do. These libraries refuse a call that cannot
 * reach its method, such as one whose message cannot be read.
 */
export function transportError(code: Code, message: string): ConnectError {
  switch (code) {
    case Code.InvalidArgument:
      return unreadableMessage(message);
    case Code.ResourceExhausted:
      return rpcError(
        'MESSAGE_TOO_LARGE',
        `${message}; ${limitOfUnknown.test(message) ? unknownCallerAdvice : 'send or request fewer items in each call'}`,
      );
    case Code.Unimplemented:
      return rpcError('NOT_IMPLEMENTED', message);
    case Code.DeadlineExceeded:
      return rpcError('DEADLINE_EXCEEDED', message);
    case Code.Canceled:
      return rpcError('CALL_CANCELLED', message);
    default:
      return faultsOfCaller.test(message) ? unreadableMessage(message) : rpcError('INTERNAL', message);
  }
}

/** Both libraries end the text with the limit. A caller whose token is missing or wrong would shorten its messages in vain. */
const limitOfUnknown = new RegExp(`\\b${maxUnknownCallerBytes}\\)?$`);

/** Texts of errors of the caller to which the libraries give the code of a defect of the server. */
const faultsOfCaller = /^(?:parse binary: |Failed to decompress message|Invalid grpc-timeout value)/;

function unreadableMessage(message: string): ConnectError {
  const issue = message
    .replace(/^parse binary: /, 'the bytes are not a valid message of this method: ')
    .replace(/^timeout \d+ms must be <= \d+$/, deadlineAdvice);
  return rpcError('INVALID_FIELDS', issue, { issues: [{ field: '', issue }] });
}

/** The advice about a deadline that only connect-node refuses. */
const deadlineAdvice =
  'the deadline must be at most 24 hours away; set a shorter one, or use the gRPC port, which takes any';
