import { randomUUID } from 'node:crypto';
import { describeOutcomes, endingsExcept, payerDigits } from './connector-conformance.ts';
import { createMtn, payment, settings } from './mtn-momo-subject.ts';
import { sharedSimulator } from './simulator-subject.ts';

const { base_url: _url, ...credentials } = settings('');
const simulator = sharedSimulator({ mtn: { protocol: 'mtn-momo', ...credentials } });

// MTN has no code for a wrong PIN.
describeOutcomes('the MTN MoMo connector', endingsExcept('wrong_pin'), (clock) => {
  const connector = createMtn(settings(`${simulator.origin()}/mtn`), simulator.callbackUrl(), clock);
  return Promise.resolve({
    ...simulator.subjectOf(connector, async ({ attemptId }) =>
      (await simulator.charges()).filter(({ merchant_reference: reference }) => reference === attemptId),
    ),
    paymentThat: (ending) => {
      const payerPhone = `+2567700000${payerDigits[ending]}`;
      return payment({ attemptId: randomUUID(), payerPhone, requestedAt: new Date() });
    },
  });
});
