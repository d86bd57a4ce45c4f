import { newRandomId } from '../../../src/contract/public-id.ts';
import type { PaymentRequest } from '../../../src/wallets/connector/wallet-connector.ts';
import { accountReference } from '../../../src/wallets/mpesa-daraja/account-reference.ts';
import type { mpesaDaraja } from '../../../src/wallets/mpesa-daraja/mpesa-daraja.ts';
import { startCallbackListener } from './callback-listener.ts';
import type { Ending, RealSubject } from './connector-conformance.ts';
import type { StartedSimulator } from './mpesa-simulator.ts';
import { mpesaOptions, mpesaSettings } from './mpesa-subject.ts';

/** A connector of M-Pesa before a simulator, with a listener for its callbacks. */
export async function startMpesaSubject(parts: {
  readonly connectors: Pick<typeof mpesaDaraja, 'load'>;
  readonly simulator: StartedSimulator;
  readonly paymentThat: (ending: Ending) => PaymentRequest;
  readonly now?: (() => Date) | undefined;
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
