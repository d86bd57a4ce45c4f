import { Gauge } from 'prom-client';
import type { Metrics } from '../platform/metrics.ts';
import { activeSpan } from '../platform/tracing/span.ts';
import type { MeasuredCall } from './wallet-meter.ts';
import type { WorkKind } from './work-kind.ts';

/** The metrics of one wallet besides those of its calls. */
export interface ShownWallet {
  readonly wallet: string;
  readonly environment: string;
  readonly workKinds: readonly WorkKind[];
  /** The limit of each kind of work. */
  readonly maxInFlight: number;
  readonly inFlight: (kind: WorkKind) => number;
  readonly isCircuitOpen: () => boolean;
  /** Of the operator's account. */
  readonly areCredentialsRefused: () => boolean;
}

export interface WalletMetrics {
  readonly measure: (wallet: Pick<ShownWallet, 'wallet' | 'environment'>, call: MeasuredCall) => void;
  readonly show: (wallets: readonly ShownWallet[]) => void;
}

const labelNames = ['wallet', 'environment'] as const;
const buckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30];

/** Creates the metrics of the wallets of this process. Heartbeats, statements and callbacks are not calls. */
export function createWalletMetrics({
  registry,
  addDurations,
}: Pick<Metrics, 'registry' | 'addDurations'>): WalletMetrics {
  const observe = addDurations({
    name: 'gatehouse_wallet_call_duration_seconds',
    help: 'Duration of calls to a wallet. The result is answered, or failed: no answer, or a status of 500 and more.',
    labelNames: [...labelNames, 'result'],
    buckets,
  });
  return {
    measure: ({ wallet, environment }, { isFailure, durationMs }) =>
      observe(
        { wallet, environment, result: isFailure ? 'failed' : 'answered' },
        durationMs / 1000,
        activeSpan(),
      ),
    show(wallets) {
      const addWorkGauge = (
        name: string,
        help: string,
        read: (of: ShownWallet, work: WorkKind) => number,
      ): void => {
        new Gauge({
          name: `gatehouse_wallet_${name}`,
          help,
          labelNames: [...labelNames, 'work'],
          registers: [registry],
          collect() {
            for (const each of wallets)
              for (const work of each.workKinds)
                this.set({ wallet: each.wallet, environment: each.environment, work }, read(each, work));
          },
        });
      };
      addWorkGauge(
        'work_in_flight',
        'Payments, reversals or payer-started payments that this process works on now.',
        (of, work) => of.inFlight(work),
      );
      addWorkGauge(
        'work_in_flight_limit',
        'The limit of payments, reversals or payer-started payments that this process works on at once. Each kind has its own limit.',
        (of) => of.maxInFlight,
      );
      new Gauge({
        name: 'gatehouse_wallet_credentials_refused',
        help: "Whether the wallet refused the operator's credentials at the latest call that shows it: 1 or 0.",
        labelNames,
        registers: [registry],
        collect() {
          for (const { wallet, environment, areCredentialsRefused } of wallets)
            this.set({ wallet, environment }, areCredentialsRefused() ? 1 : 0);
        },
      });
      new Gauge({
        name: 'gatehouse_wallet_circuit_open',
        help: 'Whether the circuit of the wallet is open, so that its payments wait: 1 or 0.',
        labelNames,
        registers: [registry],
        collect() {
          for (const { wallet, environment, isCircuitOpen } of wallets)
            this.set({ wallet, environment }, isCircuitOpen() ? 1 : 0);
        },
      });
    },
  };
}
