import { fromBinary } from '@bufbuild/protobuf';
import { WalletBreakerState, WalletStatusSchema } from '../../gen/gatehouse/v1/wallet_status_service_pb.js';
import type { WalletState } from '../domain/order-explanation.ts';
import type { Environment } from '../domain/order.ts';
import type { WalletStatusStore } from './wallet-status-store.ts';

/** A report counts for this long. Reports arrive every 5 seconds, or after 10 seconds when a wallet answers slowly. */
export const staleAfterMs = 20_000;

/** Reads the states of the wallets of an environment, from the reports that are not out of date. */
export function createReadWalletStates(
  { list }: Pick<WalletStatusStore, 'list'>,
  now: () => Date,
): (environment: Environment) => Promise<(wallet: string) => WalletState> {
  return async (environment) => {
    const at = now().getTime();
    const reports = await list(environment);
    const fresh = reports.filter(({ reportedAt }) => at - reportedAt.getTime() <= staleAfterMs);
    return (wallet) => {
      const reportsOfWallet = fresh.filter((report) => report.wallet === wallet);
      if (reportsOfWallet.length === 0) return 'SILENT';
      return reportsOfWallet.every(({ payload }) => isCircuitOpen(payload)) ? 'CIRCUIT_OPEN' : 'WORKING';
    };
  };
}

/** A circuit with a trial request counts as open, because no other request is sent. */
function isCircuitOpen(payload: Uint8Array): boolean {
  const { breaker } = fromBinary(WalletStatusSchema, payload);
  return breaker === WalletBreakerState.OPEN || breaker === WalletBreakerState.TRYING;
}
