import { mpesaDaraja } from '../../../src/wallets/mpesa-daraja/mpesa-daraja.ts';
import { describeFaultTolerance } from './connector-conformance.ts';
import { startFaultySubject } from './faulty-subject.ts';
import type { FaultySubject } from './faulty-subject.ts';
import { buildMpesaPayment, mpesaOptions, mpesaSecrets, mpesaSettings } from './mpesa-subject.ts';

const conversation = {
  OriginatorConversationID: '7619-37765134-1',
  ConversationID: 'AG_20260101_1',
  ResponseCode: '0',
  ResponseDescription: 'Accept the service request successfully.',
};
const push = {
  MerchantRequestID: '29115-1',
  CheckoutRequestID: 'ws_CO_1',
  ResponseCode: '0',
  ResponseDescription: 'Success. Request accepted for processing',
};

const token = { access_token: 'the-access-token', expires_in: '3599' };
const routes: FaultySubject['routes'] = {
  initiate: { route: /POST \/mpesa\/stkpush\/v1\/processrequest/, good: { status: 200, body: push } },
  query: {
    route: /POST \/mpesa\/stkpushquery\/v1\/query/,
    good: { status: 200, body: { ...push, ResultCode: '4999', ResultDesc: 'still under processing' } },
  },
  reverse: { route: /POST \/mpesa\/reversal\/v1\/request/, good: { status: 200, body: conversation } },
  queryReversal: {
    route: /POST \/mpesa\/transactionstatus\/v1\/query/,
    good: { status: 200, body: conversation },
  },
  statement: {
    route: /POST \/pulltransactions\/v1\/query/,
    good: { status: 200, body: { ResponseRefID: '1', ResponseCode: '1001', Response: [[]] } },
  },
  recover: { route: /POST \/nowhere/, good: { status: 200, body: {} } },
  health: { route: /GET \/oauth\/v1\/generate/, good: { status: 200, body: token } },
};

// The statement of the last 48 hours is read in January.
const now = () => new Date('2026-01-02T00:00:00Z');
const create = await mpesaDaraja.load();

describeFaultTolerance(
  'the M-Pesa connector for Kenya',
  ['initiate', 'query', 'reverse', 'queryReversal', 'statement', 'health'],
  () =>
    startFaultySubject(
      {
        routes,
        secrets: mpesaSecrets,
        payment: buildMpesaPayment(),
        references: {
          payment: JSON.stringify({ checkout: 'ws_CO_1', at: 0 }),
          reversal: JSON.stringify({ sent: { ids: ['7619-37765134-9'], at: 0 } }),
          transaction: 'NLJ7RT61SV',
        },
      },
      (origin) => create({ ...mpesaSettings(origin), pull: true }, mpesaOptions({ now })),
    ),
);
