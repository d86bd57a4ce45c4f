import { Code, ConnectError } from '@connectrpc/connect';
import type { Client } from '@connectrpc/connect';
import type { MerchantService } from '../../gen/gatehouse/v1/merchant_service_pb.js';
import { rpcError } from '../../contract/error-reason.ts';
import { reasonOf } from '../../platform/rpc/rpc-error.ts';

/** The error for our caller when a call to core fails. Errors with a reason from core are passed on unchanged. */
export function explainCoreFailure(error: unknown): unknown {
  // Our caller has disconnected, which this error already says.
  if (!(error instanceof ConnectError) || error.code === Code.Canceled) return error;
  const isUnavailable = error.code === Code.Unavailable || error.code === Code.DeadlineExceeded;
  if (!isUnavailable && reasonOf(error) !== undefined) return error;
  if (!isUnavailable)
    return rpcError('INTERNAL', 'a call to core failed; see the log of the webhooks process', {
      cause: error,
    });
  return rpcError('CORE_UNAVAILABLE', 'core does not answer; try again in a moment', {
    cause: error,
    retryAfterMs: 1000,
  });
}

const askMs = 5_000;

/**
 * Checks with core that the merchant exists.
 * @throws NOT_FOUND MERCHANT_NOT_FOUND; UNAVAILABLE CORE_UNAVAILABLE.
 */
export async function requireMerchant(
  merchants: Client<typeof MerchantService>,
  merchantId: string,
  signal: AbortSignal,
): Promise<void> {
  try {
    await merchants.getMerchant({ merchantId }, { signal, timeoutMs: askMs });
  } catch (error) {
    throw explainCoreFailure(error);
  }
}
