import type { SimulatedProtocol } from '../simulated-wallet.ts';
import { mountMpesa } from './mpesa-api.ts';
import { mpesaCredentials } from './mpesa-credentials.ts';
import { plainPassword } from './mpesa-dialect.ts';
import type { MpesaDialect } from './mpesa-dialect.ts';

const daraja: MpesaDialect = {
  currency: 'KES',
  countryCode: '254',
  msisdn: /^254[17][0-9]{8}$/,
  tokenPath: '/oauth/v1/generate',
  tokenType: false,
  // An empty body.
  wrongClient: { status: 400, body: undefined },
  passwords: (text) => [plainPassword(text)],
  pushPath: '/mpesa/stkpush/v1/processrequest',
  queryPath: '/mpesa/stkpushquery/v1/query',
  clientNamesRequests: false,
  statusByRequest: false,
  reversalPaths: ['/mpesa/reversal/v1/request'],
  registerPath: ['/mpesa/c2b/v1/registerurl', '/mpesa/c2b/v2/registerurl'],
  registersByKey: false,
  registered: () => ({
    // M-Pesa spells the field so.
    OriginatorCoversationID: '7619-37765134-1',
    ResponseCode: '0',
    ResponseDescription: 'success',
  }),
  simulatePaths: ['/mpesa/c2b/v1/simulate', '/mpesa/c2b/v2/simulate'],
  hasPull: true,
};

/** M-Pesa in Kenya, by the Daraja API. */
export const mpesaDaraja: SimulatedProtocol = {
  credentials: mpesaCredentials,
  rootPaths: new RegExp(
    '^/(oauth/v1/|pulltransactions/|mpesa/(stkpush/v1|stkpushquery|transactionstatus|reversal/v1|c2b|b2c|accountbalance)/)',
  ),
  mount: (scope, context) => mountMpesa(scope, context, daraja),
};
