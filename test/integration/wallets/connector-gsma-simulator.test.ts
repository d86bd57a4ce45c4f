import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll } from '@jest/globals';
import { GsmaConnector } from '../../../src/wallets/gsma/gsma-connector.ts';
import { startInline } from '../../support/inline-process.ts';
import type { GatehouseProcess } from '../../support/gatehouse-process.ts';
import { startCallbackReceiver } from '../wallet-simulator/callback-receiver.ts';
import type { CallbackReceiver } from '../wallet-simulator/callback-receiver.ts';
import type { Ending, RealSubject } from './connector-conformance.ts';
import { describeOutcomes, endings } from './connector-conformance.ts';
import { buildPayment, gsmaSettings } from './gsma-subject.ts';

/** The last two digits of the payer for whom it ends so. */
const payers: Readonly<Record<Ending, string>> = {
  completed: '00',
  sent_twice: '00',
  insufficient_funds: '01',
  wrong_pin: '02',
  declined_by_payer: '03',
  expired: '04',
  payer_not_found: '05',
  limit_exceeded: '06',
  account_state: '07',
  rate_limited_once: '08',
  unrecognised_status: '09',
  lost_acknowledgement: '14',
  nothing_created: '15',
  unavailable: '16',
  error_yet_paid: '17',
  another_amount: '19',
  still_pending: '20',
  reversal_refused: '22',
  reversal_unknown: '23',
  reversal_unknown_then_not: '28',
  no_callback: '10',
  callback_thrice: '11',
  forged_callback: '18',
  failure_callback: '21',
  late_success: '13',
};

const known = { client_id: 'the-client', client_secret: 'the-client-secret', api_key: 'the-api-key' };

let simulator: GatehouseProcess;
let receiver: CallbackReceiver;

beforeAll(async () => {
  receiver = await startCallbackReceiver();
  simulator = await startInline('wallet-simulator', {
    GATEHOUSE_SIMULATOR_PORT: '0',
    GATEHOUSE_SIMULATOR_CREDENTIALS: JSON.stringify({ walleta: known, walletb: known }),
    // A wallet that takes a moment where people take minutes.
    GATEHOUSE_SIMULATOR_TIME_SCALE: '0.005',
  });
});

afterAll(async () => {
  await simulator.stop();
  await receiver.close();
});

async function startSubject(clock = () => new Date()): Promise<RealSubject> {
  const origin = String(simulator.ready['origin']);
  const charges = async (attemptId: string) => {
    const response = await fetch(`${origin}/simulator/charges?correlation_id=${attemptId}`);
    const body = (await response.json()) as { charges: readonly { amount: string; reversed: string }[] };
    return body.charges;
  };
  const connector = new GsmaConnector(
    gsmaSettings(origin, {
      baseUrl: `${origin}/walleta`,
      callbackBaseUrl: receiver.url,
    }),
    clock,
  );
  return {
    connector,
    paymentThat: (ending) =>
      buildPayment({
        attemptId: randomUUID(),
        payerPhone: `+2519000000${payers[ending]}`,
        requestedAt: new Date(),
      }),
    chargesOf: async ({ attemptId }) => {
      return (await charges(attemptId)).map(({ amount }) => amount);
    },
    reversedOf: async ({ attemptId }) => (await charges(attemptId))[0]?.reversed ?? '',
    callbacksOf: ({ attemptId }) => receiver.received.filter(({ path }) => path.includes(attemptId)),
    expireTokens: async () => {
      await fetch(`${origin}/simulator/tokens/expire`, { method: 'POST' });
    },
    newId: randomUUID,
    close: async () => {
      await connector.close();
    },
  };
}

describeOutcomes('the GSMA connector', endings, startSubject);
