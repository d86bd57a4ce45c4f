import type { EventBus } from '../contract/event-bus.ts';
import type { NewId } from '../contract/public-id.ts';
import type { Database } from '../core/database/database.ts';
import type { PaymentGate } from '../core/database/payment-gate.ts';
import { createEraseDue } from '../core/erasure/erase-due.ts';
import { createErasureRequests } from '../core/erasure/erasure-requests.ts';
import { createForgetPublished } from '../core/erasure/forget-published.ts';
import { personalDataService } from '../core/erasure/personal-data-service.ts';
import type { FindMerchant } from '../core/merchants/find-merchant.ts';
import type { Logger } from '../platform/logger.ts';
import { deriveKey } from './derive-key.ts';

export interface CoreErasureParts {
  readonly database: Database;
  readonly bus: Pick<EventBus, 'stream' | 'storedStream'>;
  readonly gate: Pick<PaymentGate, 'isOpen'>;
  readonly findMerchant: FindMerchant;
  readonly masterKey: Buffer;
  /** The period of merchants without one of their own; 0 for none. */
  readonly defaultDays: number;
  readonly newId: NewId;
  readonly now: () => Date;
  readonly machineNow: () => Date;
  readonly logger: Logger;
}

/** The erasure of personal data: its service, and the task that erases data whose period has ended. */
export function createCoreErasure({ bus, findMerchant, masterKey, ...parts }: CoreErasureParts) {
  const requests = createErasureRequests({ ...parts, phoneKey: deriveKey(masterKey, 'erased-phone') });
  return {
    service: personalDataService({ ...parts, requests, findMerchant }),
    eraseDue: createEraseDue({
      ...parts,
      monotonicMs: () => performance.now(),
      erasureKey: deriveKey(masterKey, 'erasure-seal'),
      forgetPublished: createForgetPublished({ ...parts, bus }),
    }),
  };
}
