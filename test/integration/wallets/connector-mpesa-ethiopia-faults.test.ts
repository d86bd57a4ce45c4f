import { mpesaEthiopia } from '../../../src/wallets/mpesa-ethiopia/mpesa-ethiopia.ts';
import { describeFaultTolerance } from './connector-conformance.ts';
import type { FaultySubject } from './connector-conformance.ts';
import { buildMpesaPayment, mpesaOptions, mpesaSecrets, mpesaSettings } from './mpesa-subject.ts';
import { json, startScriptedWallet } from './scripted-wallet.ts';

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

async function start(): Promise<FaultySubject> {
  const wallet = await startScriptedWallet();
  for (const { route, good } of Object.values(routes)) wallet.on(route, json(good.status, good.body));
  const connector = (await mpesaEthiopia.load())(mpesaSettings(wallet.origin), mpesaOptions());
  let isOpen = true;
  const closeWallet = async () => {
    if (isOpen) await wallet.close();
    isOpen = false;
  };
  return {
    connector,
    wallet: { ...wallet, close: closeWallet },
    routes,
    secrets: mpesaSecrets,
    payment: buildMpesaPayment({ currency: 'ETB', payerPhone: '+251700000000' }),
    references: {
      payment: JSON.stringify({ checkout: 'ws_CO_1', at: 0 }),
      reversal: JSON.stringify({ sent: { ids: ['AG_1'], at: 0 } }),
      transaction: 'NLJ7RT61SV',
    },
    close: async () => {
      await connector.close();
      await closeWallet();
    },
  };
}

// The other calls share all of their code with the connector for Kenya.
describeFaultTolerance('the M-Pesa connector for Ethiopia', ['initiate', 'query'], start);
