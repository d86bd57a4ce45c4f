import type { ConfiguredWallet } from '../contract/wallets-file/read-wallets-file.ts';
import type { Database } from '../core/database/database.ts';
import type { Wallet } from '../core/domain/wallet.ts';
import type { FindMerchant } from '../core/merchants/find-merchant.ts';
import { createExplainStoredOrder } from '../core/order-story/explain-stored-order.ts';
import type { ExplainStoredOrderParts } from '../core/order-story/explain-stored-order.ts';
import { createReadExplanationRows } from '../core/order-story/explanation-rows.ts';
import { orderStoryService } from '../core/order-story/order-story-service.ts';
import { createReadOrderStory } from '../core/order-story/read-order-story.ts';
import { createMayBePaid } from '../core/payments/changes/lost-payment.ts';
import type { LostPaymentParts } from '../core/payments/changes/lost-payment.ts';
import { missingOrder } from '../core/payments/orders/missing-order.ts';
import type { MissingOrderParts } from '../core/payments/orders/missing-order.ts';
import type { CheckoutTokens } from '../core/payments/checkout/checkout-token.ts';
import { createReadWalletStates } from '../core/wallet-status/wallet-states.ts';
import type { WalletStatusStore } from '../core/wallet-status/wallet-status-store.ts';
import type { FairCalls } from '../platform/fair-calls.ts';
import type { RpcService } from '../platform/rpc/rpc-service.ts';

export interface OrderStoriesParts {
  readonly database: Database;
  readonly findMerchant: FindMerchant;
  readonly walletStatuses: WalletStatusStore;
  readonly configuredWallets: readonly ConfiguredWallet[];
  readonly wallets: readonly Wallet[];
  readonly tokens: CheckoutTokens;
  readonly accountProblem: ExplainStoredOrderParts['accountProblem'];
  readonly gate: MissingOrderParts['gate'] & LostPaymentParts['gate'];
  readonly claims: MissingOrderParts['claims'] & LostPaymentParts['claims'];
  readonly fairly: FairCalls;
  readonly searchFairly: FairCalls;
  readonly now: () => Date;
}

/** The stories and explanations of orders, which need facts of many capabilities of core. */
export function orderStories(parts: OrderStoriesParts): RpcService {
  const { database, findMerchant, walletStatuses, configuredWallets, wallets, tokens } = parts;
  const { gate, claims, fairly, searchFairly, accountProblem, now } = parts;
  const readWalletStates = createReadWalletStates(walletStatuses, now);
  return orderStoryService({
    readStory: createReadOrderStory(database),
    readExplanationRows: createReadExplanationRows(database),
    explain: createExplainStoredOrder({
      database,
      findMerchant,
      readWalletStates,
      wallets,
      accountProblem,
      now,
      mayBePaid: createMayBePaid({ database, gate, claims, now }),
    }),
    nameOf: (id) => configuredWallets.find((wallet) => wallet.id === id)?.names.en ?? id,
    openCheckoutUrlOf: tokens.openUrlOf,
    missingOrder: (name) => missingOrder({ gate, claims }, name),
    fairly,
    searchFairly,
    now,
  });
}
