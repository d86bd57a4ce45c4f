import { change, everyone, look, operator, signedIn } from './access-rule.ts';
import type { AccessRule } from './access-rule.ts';

/**
 * Who may ask for what, for every route there is: one that is missing here, and one here that is no route, keep the
 * process from starting. Another merchant's paths lead nowhere (404); a role that is not enough is told so (403).
 */
export const accessRules: Readonly<Record<string, AccessRule>> = {
  'GET /': signedIn(),
  // Signing in
  'GET /sign-in': everyone,
  'POST /sign-in': everyone,
  'GET /sign-in/code': everyone,
  'POST /sign-in/code': everyone,
  'POST /sign-out': everyone,
  'GET /invitation/:token': everyone,
  'POST /invitation/:token': everyone,
  'GET /reset': everyone,
  'POST /reset': everyone,
  'GET /reset/:token': everyone,
  'POST /reset/:token': everyone,
  'GET /confirm': signedIn(),
  'POST /confirm': signedIn(),
  'GET /carry-on': signedIn(),
  // Home and payments
  'GET /m/:merchantId/:environment': look('viewer'),
  'GET /m/:merchantId/:environment/orders': look('viewer'),
  'GET /m/:merchantId/:environment/orders.csv': look('viewer'),
  'GET /m/:merchantId/:environment/orders/:orderId': look('viewer'),
  'POST /m/:merchantId/:environment/orders/:orderId/cancel': change('developer'),
  'POST /m/:merchantId/:environment/orders/:orderId/hasten': change('developer'),
  'GET /m/:merchantId/:environment/links': look('viewer'),
  'GET /m/:merchantId/:environment/links/new': look('developer'),
  'POST /m/:merchantId/:environment/links': change('developer'),
  'GET /m/:merchantId/:environment/links/:orderId': look('viewer'),
  'GET /m/:merchantId/:environment/links/:orderId/state': look('viewer'),
  'GET /m/:merchantId/:environment/links/:orderId/qr.svg': look('viewer'),
  'GET /m/:merchantId/:environment/links/:orderId/qr.png': look('viewer'),
  // Developers: quick start, keys
  'GET /m/:merchantId/:environment/quick-start': look('viewer'),
  'GET /m/:merchantId/:environment/keys': look('developer'),
  'POST /m/:merchantId/:environment/keys': change('developer', { stepUp: true }),
  'POST /m/:merchantId/:environment/keys/:keyId/rotate': change('developer', { stepUp: true }),
  'POST /m/:merchantId/:environment/keys/:keyId/revoke': change('developer', { stepUp: true }),
  // Developers: webhooks
  'GET /m/:merchantId/:environment/webhooks': look('developer'),
  'POST /m/:merchantId/:environment/webhooks/test': change('developer'),
  'POST /m/:merchantId/:environment/webhooks/endpoints/pause': change('developer'),
  'POST /m/:merchantId/:environment/webhooks/endpoints/resume': change('developer'),
  'GET /m/:merchantId/:environment/webhooks/deliveries/:deliveryId': look('developer'),
  'POST /m/:merchantId/:environment/webhooks/deliveries/:deliveryId/redeliver': change('developer'),
  'GET /m/:merchantId/:environment/webhooks/secrets': look('developer'),
  'POST /m/:merchantId/:environment/webhooks/secrets/rotate': change('developer', { stepUp: true }),
  'POST /m/:merchantId/:environment/webhooks/secrets/promote': change('developer', { stepUp: true }),
  // Developers: API requests
  'GET /m/:merchantId/:environment/requests': look('developer'),
  'GET /m/:merchantId/:environment/requests/:apiRequestId': look('developer'),
  // Operators
  'GET /operator': operator(),
  'GET /operator/merchants': operator(),
  'POST /operator/merchants': operator(),
  'GET /operator/merchants/:merchantId': operator(),
  'POST /operator/merchants/:merchantId/terms': operator(),
  'POST /operator/merchants/:merchantId/suspend': operator(),
  'POST /operator/merchants/:merchantId/resume': operator(),
  'POST /operator/merchants/:merchantId/activate': operator({ stepUp: true }),
  'GET /operator/wallets': operator(),
  'GET /operator/stray-payments': operator(),
  'POST /operator/stray-payments/:merchantId/:strayPaymentId/retry': operator(),
  'GET /operator/reconciliations': operator(),
  'POST /operator/reconciliations': operator(),
  'GET /operator/reconciliations/:reconciliationId': operator(),
  'GET /operator/pipeline': operator(),
};
