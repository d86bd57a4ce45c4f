import { randomFillSync } from 'node:crypto';
import { partOf } from '../../../src/contract/due-work.ts';
import { randomIdsFrom } from '../../../src/contract/public-id.ts';
import type { PublicId } from '../../../src/contract/public-id.ts';
import type { Database } from '../../../src/core/database/database.ts';
import { Currency } from '../../../src/core/domain/currency.ts';
import type { OrderFacts } from '../../../src/core/domain/order.ts';
import { createOrderChanges } from '../../../src/core/payments/changes/change-orders.ts';
import { createPhoneLimit } from '../../../src/core/payments/phones/phone-limit.ts';
import { pooledRandom } from '../../../src/platform/pooled-random.ts';
import { pino } from 'pino';

export const newId = randomIdsFrom(pooledRandom(randomFillSync));

/** Core's changes of orders, by default without a limit on prompts. */
export function openOrderChanges(
  database: Database,
  announce: (what: string) => void = () => undefined,
  promptsPerTenMinutes = 0,
) {
  return createOrderChanges({
    database,
    phoneLimit: createPhoneLimit({ promptsPerTenMinutes, random: Math.random }),
    newId,
    now: () => new Date(),
    onEvents: () => announce('events'),
    onDue: (due) => announce(partOf(due)),
    logger: pino({ level: 'silent' }),
  });
}

/** The facts of a new order of the sandbox. */
export function newOrderFacts(
  merchantId: PublicId<'mer'>,
  orderNumber: string,
  lifetimeMs = 60_000,
): OrderFacts {
  const createdAt = new Date();
  return {
    id: newId('ord', createdAt),
    merchantId,
    environment: 'SANDBOX',
    orderNumber,
    amount: { text: '100.50', minorUnits: 10_050n, currency: Currency.of('ETB') },
    paymentType: 'API',
    customerPhone: { asGiven: '0911223344', e164: '+251911223344' },
    reason: 'Two coffees',
    businessName: '',
    returnUrl: 'https://shop.example/return',
    webhookUrl: '',
    createdAt,
    expiresAt: new Date(createdAt.getTime() + lifetimeMs),
  };
}
