import { createHmac, createSecretKey } from 'node:crypto';
import { checkoutService } from '../core/payments/checkout/checkout-service.ts';
import { createFindPaybills } from '../core/payments/checkout/find-paybills.ts';
import type { FindPaybillsParts } from '../core/payments/checkout/find-paybills.ts';
import { createCheckouts } from '../core/payments/checkout/checkouts.ts';
import type { CheckoutParts } from '../core/payments/checkout/checkouts.ts';
import { deriveKey } from './derive-key.ts';

export type CoreCheckoutParts = Omit<CheckoutParts, 'findPaybills' | 'hashNetwork'> &
  FindPaybillsParts & { readonly masterKey: Buffer; readonly now: () => Date };

/** The checkout pages' service. Of a customer's network it stores a keyed hash only. */
export function createCoreCheckout({ masterKey, now, ...parts }: CoreCheckoutParts) {
  const networkKey = createSecretKey(deriveKey(masterKey, 'customer-network'));
  return checkoutService(
    createCheckouts({
      ...parts,
      findPaybills: createFindPaybills(parts),
      hashNetwork: (network) =>
        createHmac('sha256', networkKey).update(network).digest('base64url').slice(0, 22),
    }),
    now,
  );
}
