import type { ConnectError } from '@connectrpc/connect';
import { ErrorInfoSchema } from '../gen/google/rpc/error_details_pb.js';
import { rpcError } from './error-reason.ts';

/** The causes for which an order accepts no payment, for programs: `cause` in the ErrorInfo of ORDER_NOT_PAYABLE. */
const notPayableCauses = [
  'order_is_final',
  'session_ended',
  'too_many_attempts',
  'option_not_allowed',
] as const;

export type NotPayableCause = (typeof notPayableCauses)[number];

/** FAILED_PRECONDITION ORDER_NOT_PAYABLE. */
export const notPayable = (cause: NotPayableCause, message: string): ConnectError =>
  rpcError('ORDER_NOT_PAYABLE', message, { metadata: { cause } });

/** The cause in a received ORDER_NOT_PAYABLE; undefined for a cause that this version does not know. */
export function notPayableCauseOf(error: ConnectError): NotPayableCause | undefined {
  const given = error.findDetails(ErrorInfoSchema)[0]?.metadata['cause'];
  return notPayableCauses.find((cause) => cause === given);
}
