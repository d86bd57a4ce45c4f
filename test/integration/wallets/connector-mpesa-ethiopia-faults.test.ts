import { mpesaEthiopia } from '../../../src/wallets/mpesa-ethiopia/mpesa-ethiopia.ts';
import { describeFaultTolerance } from './connector-conformance.ts';
import { startFaultySubject } from './faulty-subject.ts';
import type { FaultySubject } from './faulty-subject.ts';
import { buildMpesaPayment, mpesaOptions, mpesaSecrets, mpesaSettings } from './mpesa-subject.ts';

const conversation = { OriginatorConversationID: '7619-1', ConversationID: 'AG_1', ResponseCode: '0' };
const token = { access_token: 'the-access-token', token_type: 'Bearer', expires_in: 3599 };
const push = { MerchantRequestID: 'pat_1', CheckoutRequestID: 'ws_CO_1', ResponseCode: '0' };
const status = /POST \/mpesa\/transactionstatus\/v1\/query/;

const nowhere = { route: /POST \/nowhere/, good: { status: 200, body: {} } };
const routes: FaultySubject['routes'] = {
  initiate: { route: /POST \/mpesa\/stkpush\/v3\/processrequest/, good: { status: 200, body: push } },
  query: { route: status, good: { status: 200, body: conversation } },
  reverse: { route: /POST \/mpesa\/reversal\/v2\/request/, good: { status: 200, body: conversation } },
  queryReversal: { route: status, good: { status: 200, body: conversation } },
  health: { route: /GET \/v1\/token\/generate/, good: { status: 200, body: token } },
  statement: nowhere,
  recover: nowhere,
};

const create = await mpesaEthiopia.load();

// The other calls share all of their code with the connector for Kenya.
describeFaultTolerance('the M-Pesa connector for Ethiopia', ['initiate', 'query'], () =>
  startFaultySubject(
    {
      routes,
      secrets: mpesaSecrets,
      payment: buildMpesaPayment({ currency: 'ETB', payerPhone: '+251700000000' }),
      references: {
        payment: JSON.stringify({ checkout: 'ws_CO_1', at: 0 }),
        reversal: JSON.stringify({ sent: { ids: ['AG_1'], at: 0 } }),
        transaction: 'NLJ7RT61SV',
      },
    },
    (origin) => create(mpesaSettings(origin), mpesaOptions()),
  ),
);
