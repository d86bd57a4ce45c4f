import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll } from '@jest/globals';
import { startInline } from '../../support/inline-process.ts';
import type { GatehouseProcess } from '../../support/gatehouse-process.ts';
import { startCallbackReceiver } from '../wallet-simulator/callback-receiver.ts';
import type { CallbackReceiver } from '../wallet-simulator/callback-receiver.ts';
import type { Ending, RealSubject } from './connector-conformance.ts';
import { describeOutcomes } from './connector-conformance.ts';
import { createMtn, payment, settings } from './mtn-momo-subject.ts';

/** The last two digits of the payer for whom it ends so. MTN has no word for a wrong PIN. */
const payers: Partial<Record<Ending, string>> = {
  completed: '00',
  sent_twice: '00',
  insufficient_funds: '01',
  declined_by_payer: '03',
  expired: '04',
  payer_not_found: '05',
  limit_exceeded: '06',
  account_state: '07',
  rate_limited_once: '08',
  unrecognised_status: '09',
  no_callback: '10',
  callback_thrice: '11',
  late_success: '13',
  lost_acknowledgement: '14',
  nothing_created: '15',
  unavailable: '16',
  error_yet_paid: '17',
  forged_callback: '18',
  another_amount: '19',
  still_pending: '20',
  failure_callback: '21',
  reversal_refused: '22',
  reversal_unknown: '23',
  reversal_unknown_then_not: '28',
};

let simulator: GatehouseProcess;
let receiver: CallbackReceiver;

beforeAll(async () => {
  receiver = await startCallbackReceiver();
  const { base_url: _url, ...credentials } = settings('');
  simulator = await startInline('wallet-simulator', {
    GATEHOUSE_SIMULATOR_PORT: '0',
    GATEHOUSE_SIMULATOR_CREDENTIALS: JSON.stringify({ mtn: { protocol: 'mtn-momo', ...credentials } }),
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
  const connector = createMtn(settings(`${origin}/mtn`), receiver.url, clock);
  const charges = async (attemptId: string) => {
    const response = await fetch(`${origin}/simulator/charges`);
    const body = (await response.json()) as {
      charges: readonly { amount: string; reversed: string; merchant_reference: string }[];
    };
    return body.charges.filter(({ merchant_reference: reference }) => reference === attemptId);
  };
  return {
    connector,
    paymentThat: (ending) => {
      const payerPhone = `+2567700000${payers[ending] ?? ''}`;
      const request = payment({ attemptId: randomUUID(), payerPhone, requestedAt: new Date() });
      return request;
    },
    chargesOf: async ({ attemptId }) => (await charges(attemptId)).map(({ amount }) => amount),
    reversedOf: async ({ attemptId }) => (await charges(attemptId))[0]?.reversed ?? '',
    callbacksOf: ({ attemptId }) => receiver.received.filter(({ path }) => path.includes(attemptId)),
    expireTokens: async () => {
      await fetch(`${origin}/simulator/tokens/expire`, { method: 'POST' });
    },
    newId: randomUUID,
    close: () => connector.close(),
  };
}

const supported = Object.keys(payers) as Ending[];

describeOutcomes('the MTN MoMo connector', supported, startSubject);
