import { v7 } from 'uuid';
import type { PaymentGate } from '../core/database/payment-gate.ts';
import { recoveryService } from '../core/recovery/recovery-service.ts';
import { createRecoveryStore } from '../core/recovery/recovery-store.ts';
import type { RecoveryStoreParts } from '../core/recovery/recovery-store.ts';
import { createRecoverySteps } from '../core/recovery/run-recovery.ts';
import type { RecoveryParts } from '../core/recovery/run-recovery.ts';
import type { RpcService } from '../platform/rpc/rpc-service.ts';
import { waitForBroker } from './wait-for-broker.ts';

const streamWaitMs = 5 * 60_000;
const streamPauseMs = 2_000;
const brokerStartMs = 2_000;

export interface CoreRecoveryParts
  extends
    Omit<RecoveryParts, 'newUuid' | 'streamWaitMs' | 'streamPauseMs' | 'onRecovering'>,
    Omit<RecoveryStoreParts, 'newUuid'> {
  readonly gate: Pick<PaymentGate, 'refresh'>;
  readonly now: () => Date;
}

export interface CoreRecovery {
  /** Notices a restore, carries a recovery on, and refreshes the gate. */
  readonly checkDatabase: () => Promise<void>;
  /**
   * The first check, before any call is answered. It does not wait long for a broker that is unavailable, and does not wait for a
   * recovery. Once the gate is closed, calls are answered as in a recovery that begins later.
   */
  readonly checkAtStart: (isBrokerConnected: () => boolean) => Promise<void>;
  /** Whether the relay may add events to the broker's stream. */
  readonly continuesStream: () => Promise<boolean>;
  readonly service: RpcService;
}

/** The work of core when its database was restored. */
export function createCoreRecovery(parts: CoreRecoveryParts): CoreRecovery {
  const closed = Promise.withResolvers<undefined>();
  const onRecovering = async (): Promise<void> => {
    await parts.gate.refresh();
    closed.resolve(undefined);
  };
  const own = { ...parts, newUuid: v7, streamWaitMs, streamPauseMs, onRecovering };
  const { step, continuesStream } = createRecoverySteps(own);
  const checkDatabase = async (): Promise<void> => {
    // The gate is refreshed first, because a step may read a long stream and may fail. After a restore, calls about unknown
    // orders get RECOVERING from here on.
    await parts.gate.refresh();
    await step();
    await parts.gate.refresh();
  };
  const store = createRecoveryStore(own);
  return {
    checkDatabase,
    continuesStream,
    async checkAtStart(isBrokerConnected) {
      await waitForBroker(isBrokerConnected, brokerStartMs);
      // If the rest of the step fails, the next one repeats it and logs why.
      await Promise.race([checkDatabase(), closed.promise]);
    },
    service: recoveryService({
      store,
      now: parts.now,
      onBegin: parts.gate.refresh,
      onDecision: checkDatabase,
    }),
  };
}
