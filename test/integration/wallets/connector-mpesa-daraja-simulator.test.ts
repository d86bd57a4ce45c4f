import { mpesaDaraja as simulator } from '../../../src/wallet-simulator/mpesa-daraja/mpesa-daraja.ts';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { accountReference } from '../../../src/wallets/mpesa-daraja/account-reference.ts';
import { mpesaDaraja } from '../../../src/wallets/mpesa-daraja/mpesa-daraja.ts';
import { startCallbackListener } from './callback-listener.ts';
import { describeOutcomes } from './connector-conformance.ts';
import type { Ending, RealSubject } from './connector-conformance.ts';
import { startMpesaSimulator } from './mpesa-simulator.ts';
import { buildMpesaPayment, mpesaOptions, mpesaSettings } from './mpesa-subject.ts';
import { shared } from '../../support/shared-stack.ts';

/** The last two digits of the payer for whom it ends so. Endings without a receipt are in connector-mpesa-daraja-receipts. */
const payers: Readonly<Partial<Record<Ending, string>>> = {
  completed: '00',
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
  callback_thrice: '11',
  late_success: '13',
  forged_callback: '18',
  another_amount: '19',
  still_pending: '20',
  reversal_refused: '22',
  reversal_unknown: '23',
};

const started = shared(
  () => startMpesaSimulator(simulator),
  ({ close }) => close(),
);

const charges = (attemptId: string) =>
  started.wallet.charges().filter((charge) => charge.merchant_reference === accountReference(attemptId));

async function startSubject(clock = () => new Date()): Promise<RealSubject> {
  const callbacks = await startCallbackListener((callback) => connector.parseCallback(callback));
  const connector = (await mpesaDaraja.load())(
    mpesaSettings(started.baseUrl),
    mpesaOptions({
      callbackBaseUrl: () => callbacks.baseUrl,
      timeouts: { connectMs: 1_000, callMs: 2_000 },
      now: clock,
    }),
  );
  return {
    connector,
    paymentThat: (ending) => buildMpesaPayment({ payerPhone: `+2547000000${payers[ending] ?? ''}` }),
    chargesOf: async ({ attemptId }) => charges(attemptId).map(({ amount }) => amount),
    reversedOf: async ({ attemptId }) => charges(attemptId)[0]?.reversed ?? '',
    notesOf: callbacks.notesOf,
    // Without the answers to status questions, which come to the same URL.
    callbacksOf: ({ attemptId }) =>
      callbacks.callbacksOf(attemptId).filter(({ raw }) => raw.includes('stkCallback')),
    expireTokens: async () => started.wallet.expireTokens(),
    newId: () => newRandomId('stp', new Date()),
    close: async () => {
      await connector.close();
      await callbacks.close();
    },
  };
}

describeOutcomes('the M-Pesa connector for Kenya', Object.keys(payers) as Ending[], startSubject);
