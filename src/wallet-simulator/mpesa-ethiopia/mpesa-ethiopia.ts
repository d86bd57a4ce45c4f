import { createHash } from 'node:crypto';
import { mountMpesa } from '../mpesa-daraja/mpesa-api.ts';
import { mpesaCredentials } from '../mpesa-daraja/mpesa-credentials.ts';
import { plainPassword } from '../mpesa-daraja/mpesa-dialect.ts';
import type { MpesaDialect } from '../mpesa-daraja/mpesa-dialect.ts';
import type { SimulatedProtocol } from '../simulated-wallet.ts';

/** Errors, callbacks and limits of M-Pesa Ethiopia are not published, so those of Daraja are assumed. */
const ethiopia: MpesaDialect = {
  currency: 'ETB',
  countryCode: '251',
  msisdn: /^251[79][0-9]{8}$/,
  tokenPath: '/v1/token/generate',
  tokenType: true,
  wrongClient: { status: 400, body: { resultCode: '999991', resultDesc: 'Invalid client id passed.' } },
  // The official library and its documentation disagree.
  passwords: (text) => {
    const digest = createHash('sha256').update(text).digest('hex');
    return [plainPassword(text), plainPassword(digest), digest];
  },
  pushPath: '/mpesa/stkpush/v3/processrequest',
  clientNamesRequests: true,
  statusByRequest: true,
  // One of the official libraries uses the first version.
  reversalPaths: ['/mpesa/reversal/v2/request', '/mpesa/reversal/v1/request'],
  registerPath: ['/v1/c2b-register-url/register'],
  registersByKey: true,
  registered: () => ({
    header: {
      responseCode: 200,
      responseMessage: 'Request processed successfully',
      customerMessage: 'Request processed successfully',
    },
  }),
  simulatePaths: ['/mpesa/b2c/simulatetransaction/v1/request'],
  hasPull: false,
};

/** M-Pesa in Ethiopia. */
export const mpesaEthiopia: SimulatedProtocol = {
  credentials: mpesaCredentials,
  // A wallet that stands before this one gets the paths that both countries have.
  rootPaths: new RegExp(
    '^/(v1/(token|c2b-register-url)/|mpesa/(stkpush/v3|transactionstatus|reversal/v2|b2c|accountbalance)/)',
  ),
  mount: (scope, context) => mountMpesa(scope, context, ethiopia),
};
