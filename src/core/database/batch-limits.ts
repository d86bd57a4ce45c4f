import { isDataRefused } from '../../platform/database/explain-error.ts';

/**
 * Limits for calls that share a statement. All calls, waiting or being written, stay below the number that one gRPC
 * connection may have open. Further calls would queue in the client until their deadline, and would never be refused in
 * time.
 */
export const batchLimits = {
  isOneItemsFault: isDataRefused,
  maxItems: 500,
  maxInFlight: 3,
  maxWaiting: 2_000,
} as const;
