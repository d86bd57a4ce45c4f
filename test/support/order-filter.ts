import type { MerchantId } from '../../src/core/domain/order.ts';
import type { SearchBounds } from '../../src/core/database/walk-back.ts';
import type { OrderFilter } from '../../src/core/payments/search/search-orders.ts';

/** The newest orders of a merchant in the sandbox, 50 per page, with the given changes. */
export const orderFilter = (merchantId: MerchantId, own: Partial<OrderFilter> = {}): OrderFilter => ({
  merchantId,
  environment: 'SANDBOX',
  statuses: [],
  createdFrom: undefined,
  createdTo: undefined,
  orderNumber: undefined,
  orderNumberPrefix: undefined,
  customerPhone: undefined,
  phone: undefined,
  completedFrom: undefined,
  completedTo: undefined,
  providerTransactionId: undefined,
  currency: undefined,
  minMinorUnits: undefined,
  maxMinorUnits: undefined,
  paymentTypes: [],
  paymentOptions: [],
  beforeId: undefined,
  limit: 50,
  ...own,
});

/** The number of rows that each walk of a call reads. */
export const oneWalk: SearchBounds = { walks: 1, beginWithinMs: 0, monotonicMs: () => 0 };
