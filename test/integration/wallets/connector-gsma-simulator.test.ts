import { randomUUID } from 'node:crypto';
import { GsmaConnector } from '../../../src/wallets/gsma/gsma-connector.ts';
import type { Ending } from './connector-conformance.ts';
import { describeOutcomes, endings } from './connector-conformance.ts';
import { buildPayment, gsmaSettings } from './gsma-subject.ts';
import { sharedSimulator } from './simulator-subject.ts';

/** The last two digits of the payer with each outcome. */
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
const simulator = sharedSimulator({ walleta: known, walletb: known });

describeOutcomes('the GSMA connector', endings, (clock = () => new Date()) => {
  const baseUrl = `${simulator.origin()}/walleta`;
  const settings = gsmaSettings('', { baseUrl, callbackBaseUrl: simulator.callbackUrl() });
  return Promise.resolve({
    ...simulator.subjectOf(new GsmaConnector(settings, clock), ({ attemptId }) =>
      simulator.charges(`?correlation_id=${attemptId}`),
    ),
    paymentThat: (ending) =>
      buildPayment({
        attemptId: randomUUID(),
        payerPhone: `+2519000000${payers[ending]}`,
        requestedAt: new Date(),
      }),
  });
});
