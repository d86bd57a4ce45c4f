import { randomUUID } from 'node:crypto';
import type { Ending } from './connector-conformance.ts';
import { describeOutcomes } from './connector-conformance.ts';
import { createMtn, payment, settings } from './mtn-momo-subject.ts';
import { sharedSimulator } from './simulator-subject.ts';

/** The last two digits of the payer with each outcome. MTN has no code for a wrong PIN. */
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

const { base_url: _url, ...credentials } = settings('');
const simulator = sharedSimulator({ mtn: { protocol: 'mtn-momo', ...credentials } });

describeOutcomes('the MTN MoMo connector', Object.keys(payers) as Ending[], (clock) => {
  const connector = createMtn(settings(`${simulator.origin()}/mtn`), simulator.callbackUrl(), clock);
  return Promise.resolve({
    ...simulator.subjectOf(connector, async ({ attemptId }) =>
      (await simulator.charges()).filter(({ merchant_reference: reference }) => reference === attemptId),
    ),
    paymentThat: (ending) => {
      const payerPhone = `+2567700000${payers[ending] ?? ''}`;
      return payment({ attemptId: randomUUID(), payerPhone, requestedAt: new Date() });
    },
  });
});
