import { newRandomId } from '../../../src/contract/public-id.ts';
import type { PaymentRequest } from '../../../src/wallets/connector/wallet-connector.ts';
import { accountReference } from '../../../src/wallets/mpesa-daraja/account-reference.ts';
import type { mpesaDaraja } from '../../../src/wallets/mpesa-daraja/mpesa-daraja.ts';
import { startCallbackListener } from './callback-listener.ts';
import type { Ending, RealSubject } from './connector-conformance.ts';
import type { StartedSimulator } from './mpesa-simulator.ts';
import { mpesaOptions, mpesaSettings } from './mpesa-subject.ts';

/** The last two digits of the payer with each ending, at the simulators of both countries. */
export const mpesaPayers: Readonly<Partial<Record<Ending, string>>> = {
  completed: '00',
  insufficient_funds: '01',
  wrong_pin: '02',
  declined_by_payer: '03',
  expired: '04',
  payer_not_found: '05',
  limit_exceeded: '06',
  account_state: '07',
  rate_limited_once: '08',
  callback_thrice: '11',
  late_success: '13',
  lost_acknowledgement: '14',
  nothing_created: '15',
  unavailable: '16',
  error_yet_paid: '17',
  forged_callback: '18',
  another_amount: '19',
  still_pending: '20',
  reversal_refused: '22',
  reversal_unknown: '23',
};

/** A connector of M-Pesa before a simulator, with a listener for its callbacks. */
export async function startMpesaSubject(parts: {
  readonly connectors: Pick<typeof mpesaDaraja, 'load'>;
  readonly simulator: StartedSimulator;
  readonly paymentThat: (ending: Ending) => PaymentRequest;
  readonly now?: () => Date;
}): Promise<RealSubject & { readonly notesOf: (requestId: string) => readonly string[] }> {
  const { connectors, simulator, paymentThat, now = () => new Date() } = parts;
  const callbacks = await startCallbackListener((callback) => connector.parseCallback(callback));
  const connector = (await connectors.load())(
    mpesaSettings(simulator.baseUrl),
    mpesaOptions({
      callbackBaseUrl: () => callbacks.baseUrl,
      timeouts: { connectMs: 1_000, callMs: 2_000 },
      now,
    }),
  );
  const charges = (attemptId: string) =>
    simulator.wallet.charges().filter((charge) => charge.merchant_reference === accountReference(attemptId));
  return {
    connector,
    paymentThat,
    chargesOf: async ({ attemptId }) => charges(attemptId).map(({ amount }) => amount),
    reversedOf: async ({ attemptId }) => charges(attemptId)[0]?.reversed ?? '',
    notesOf: callbacks.notesOf,
    // Without the answers to status queries, which arrive at the same URL.
    callbacksOf: ({ attemptId }) =>
      callbacks.callbacksOf(attemptId).filter(({ raw }) => raw.includes('stkCallback')),
    expireTokens: async () => simulator.wallet.expireTokens(),
    newId: () => newRandomId('stp', new Date()),
    close: async () => {
      await connector.close();
      await callbacks.close();
    },
  };
}
