import { randomUUID } from 'node:crypto';
import { GsmaConnector } from '../../../src/wallets/gsma/gsma-connector.ts';
import { describeOutcomes, endings, payerDigits } from './connector-conformance.ts';
import { buildPayment, gsmaSettings } from './gsma-subject.ts';
import { sharedSimulator } from './simulator-subject.ts';

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
        payerPhone: `+2519000000${payerDigits[ending]}`,
        requestedAt: new Date(),
      }),
  });
});
