import { Code, ConnectError } from '@connectrpc/connect';
import type { Status } from '../../gen/google/rpc/status_pb.js';
import { failedItemKey } from '../../platform/rpc/call-context.ts';
import type { CallContext } from '../../platform/rpc/call-context.ts';
import { rpcError } from '../../contract/error-reason.ts';
import { invalidFields, toStatus } from '../../platform/rpc/rpc-error.ts';
import { explainDatabaseError } from '../../platform/database/explain-error.ts';

const maxBatchSize = 500;

export type ItemResult<Response> =
  | { readonly case: 'response'; readonly value: Response }
  | { readonly case: 'error'; readonly value: Status };

/**
 * Answers every item of a batch separately (AIP-231, with a status for each item). A failed item does not affect the
 * others. @throws INVALID_ARGUMENT INVALID_FIELDS when there are no items, or too many.
 */
export async function answerEach<Request, Response>(
  context: CallContext,
  requests: readonly Request[],
  answer: (request: Request) => Promise<Response>,
): Promise<{ result: ItemResult<Response> }[]> {
  if (requests.length === 0 || requests.length > maxBatchSize) {
    throw invalidFields([{ field: 'requests', issue: `must have 1 to ${maxBatchSize} items` }]);
  }
  return Promise.all(
    requests.map(async (request) => {
      try {
        return { result: { case: 'response', value: await answer(request) } };
      } catch (error) {
        const explained = rpcErrorOf(error);
        if (explained.code === Code.Internal) context.values.set(failedItemKey, explained);
        return { result: { case: 'error', value: toStatus(explained) } };
      }
    }),
  );
}

function rpcErrorOf(error: unknown): ConnectError {
  if (error instanceof ConnectError) return error;
  return (
    explainDatabaseError(error) ??
    rpcError('INTERNAL', 'an unexpected error; the log has it under the request id of the batch', {
      cause: error,
    })
  );
}
