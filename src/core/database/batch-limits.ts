import { isDataRefused } from '../../platform/database/explain-error.ts';

/**
 * For calls that share a statement. What waits, with what is being written, stays below the calls that one connection to
 * the gRPC server may have open: beyond those, calls would queue unseen in the client until their deadline, and no caller
 * would be refused in time.
 */
export const batchLimits = {
  isOneItemsFault: isDataRefused,
  maxItems: 500,
  maxInFlight: 3,
  maxWaiting: 2_000,
} as const;
