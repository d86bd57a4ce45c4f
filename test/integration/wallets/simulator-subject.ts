import { randomUUID } from 'node:crypto';
import type { PaymentRequest, WalletConnector } from '../../../src/wallets/connector/wallet-connector.ts';
import type { GatehouseProcess } from '../../support/gatehouse-process.ts';
import { startInline } from '../../support/inline-process.ts';
import { shared } from '../../support/shared-stack.ts';
import { startCallbackReceiver } from '../wallet-simulator/callback-receiver.ts';
import type { RealSubject } from './connector-conformance.ts';

/** The simulator's record of a payment that moved money. */
interface SimulatedCharge {
  readonly amount: string;
  readonly reversed: string;
  readonly merchant_reference: string;
}

/** A process of the wallet simulator for all tests of a file, whose payers need a moment instead of minutes. */
export const sharedSimulatorProcess = (
  credentials: Readonly<Record<string, object>>,
  timeScale = '0.02',
): GatehouseProcess =>
  shared(() =>
    startInline('wallet-simulator', {
      GATEHOUSE_SIMULATOR_PORT: '0',
      GATEHOUSE_SIMULATOR_CREDENTIALS: JSON.stringify(credentials),
      GATEHOUSE_SIMULATOR_TIME_SCALE: timeScale,
    }),
  );

/** A wallet simulator for all tests of a file, and a listener for its callbacks. */
export function sharedSimulator(credentials: Readonly<Record<string, object>>) {
  const receiver = shared(() => startCallbackReceiver(() => 200));
  const simulator = sharedSimulatorProcess(credentials, '0.005');
  const origin = (): string => String(simulator.ready['origin']);
  const post = (path: string): Promise<Response> => fetch(`${origin()}${path}`, { method: 'POST' });
  return {
    origin,
    callbackUrl: () => receiver.url,
    post,
    /** The charges that a query selects. */
    charges: async (query = ''): Promise<readonly SimulatedCharge[]> => {
      const response = await fetch(`${origin()}/simulator/charges${query}`);
      return ((await response.json()) as { charges: readonly SimulatedCharge[] }).charges;
    },
    /** A subject of the conformance suite, except for its payments. */
    subjectOf: (
      connector: WalletConnector,
      chargesOf: (payment: Pick<PaymentRequest, 'attemptId'>) => Promise<readonly SimulatedCharge[]>,
    ): Omit<RealSubject, 'paymentThat'> => ({
      connector,
      chargesOf: async (payment) => (await chargesOf(payment)).map(({ amount }) => amount),
      reversedOf: async (payment) => (await chargesOf(payment))[0]?.reversed ?? '',
      callbacksOf: ({ attemptId }) => receiver.received.filter(({ path }) => path.includes(attemptId)),
      expireTokens: async () => {
        await post('/simulator/tokens/expire');
      },
      newId: randomUUID,
      close: () => connector.close(),
    }),
  };
}
