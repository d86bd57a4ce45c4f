import { mpesaDaraja as simulator } from '../../../src/wallet-simulator/mpesa-daraja/mpesa-daraja.ts';
import { mpesaDaraja } from '../../../src/wallets/mpesa-daraja/mpesa-daraja.ts';
import { shared } from '../../support/shared-stack.ts';
import { describeOutcomes, endingsExcept, payerDigits } from './connector-conformance.ts';
import { startMpesaSubject } from './mpesa-simulator-subject.ts';
import { startMpesaSimulator } from './mpesa-simulator.ts';
import { buildMpesaPayment } from './mpesa-subject.ts';

/** Endings without a receipt are in connector-mpesa-daraja-receipts. */
const supported = endingsExcept('sent_twice', 'no_callback', 'failure_callback', 'reversal_unknown_then_not');

const started = shared(() => startMpesaSimulator(simulator));

describeOutcomes('the M-Pesa connector for Kenya', supported, (now) =>
  startMpesaSubject({
    connectors: mpesaDaraja,
    simulator: started,
    now,
    paymentThat: (ending) => buildMpesaPayment({ payerPhone: `+2547000000${payerDigits[ending]}` }),
  }),
);
