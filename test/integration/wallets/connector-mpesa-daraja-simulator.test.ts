import { mpesaDaraja as simulator } from '../../../src/wallet-simulator/mpesa-daraja/mpesa-daraja.ts';
import { mpesaDaraja } from '../../../src/wallets/mpesa-daraja/mpesa-daraja.ts';
import { shared } from '../../support/shared-stack.ts';
import { describeOutcomes } from './connector-conformance.ts';
import type { Ending } from './connector-conformance.ts';
import { mpesaPayers, startMpesaSubject } from './mpesa-simulator-subject.ts';
import { startMpesaSimulator } from './mpesa-simulator.ts';
import { buildMpesaPayment } from './mpesa-subject.ts';

/** Endings without a receipt are in connector-mpesa-daraja-receipts. */
const payers: typeof mpesaPayers = { ...mpesaPayers, unrecognised_status: '09' };

const started = shared(
  () => startMpesaSimulator(simulator),
  ({ close }) => close(),
);

describeOutcomes('the M-Pesa connector for Kenya', Object.keys(payers) as Ending[], () =>
  startMpesaSubject({
    connectors: mpesaDaraja,
    simulator: started,
    paymentThat: (ending) => buildMpesaPayment({ payerPhone: `+2547000000${payers[ending] ?? ''}` }),
  }),
);
