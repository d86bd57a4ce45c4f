import { openSchema } from '../../platform/database/open-database.ts';
import type { Database, DatabaseOptions } from '../../platform/database/open-database.ts';
import { entities } from './entities.ts';
import { Migration001Core } from './migrations/migration-001-core.ts';
import { Migration002Payments } from './migrations/migration-002-payments.ts';
import { Migration003Reconciliation } from './migrations/migration-003-reconciliation.ts';
import { Migration004Reversals } from './migrations/migration-004-reversals.ts';
import { Migration005RequestLog } from './migrations/migration-005-request-log.ts';
import { Migration006Accounts } from './migrations/migration-006-accounts.ts';
import { Migration007MerchantTerms } from './migrations/migration-007-merchant-terms.ts';
import { Migration008Upkeep } from './migrations/migration-008-upkeep.ts';
import { Migration009Reports } from './migrations/migration-009-reports.ts';
import { Migration010WalletStatuses } from './migrations/migration-010-wallet-statuses.ts';
import { Migration011PhoneStates } from './migrations/migration-011-phone-states.ts';
import { Migration012ReportQuarters } from './migrations/migration-012-report-quarters.ts';
import { Migration013MerchantContact } from './migrations/migration-013-merchant-contact.ts';
import { Migration014AttemptOrigins } from './migrations/migration-014-attempt-origins.ts';
import { Migration015AccountHelp } from './migrations/migration-015-account-help.ts';
import { Migration016PaymentLinks } from './migrations/migration-016-payment-links.ts';
import { Migration017PromptPlaces } from './migrations/migration-017-prompt-places.ts';
import { Migration018RefusalReasons } from './migrations/migration-018-refusal-reasons.ts';
import { Migration019AnyWallet } from './migrations/migration-019-any-wallet.ts';
import { Migration020Refunds } from './migrations/migration-020-refunds.ts';
import { Migration021PayerPayments } from './migrations/migration-021-payer-payments.ts';
import { Migration022MerchantWallets } from './migrations/migration-022-merchant-wallets.ts';
import { Migration023RefundRequests } from './migrations/migration-023-refund-requests.ts';
import { Migration024RefundRoleLimits } from './migrations/migration-024-refund-role-limits.ts';
import { Migration028IdempotencyKeys } from './migrations/migration-028-idempotency-keys.ts';
import { Migration030SettledStraysWithoutOrder } from './migrations/migration-030-settled-strays-without-order.ts';
import { Migration031Certifications } from './migrations/migration-031-certifications.ts';
import { Migration032ExplainRequests } from './migrations/migration-032-explain-requests.ts';
import { Migration033Recovery } from './migrations/migration-033-recovery.ts';
import { Migration035EventChain } from './migrations/migration-035-event-chain.ts';
import { Migration036MoneyDays } from './migrations/migration-036-money-days.ts';
import { Migration037Erasure } from './migrations/migration-037-erasure.ts';
import { Migration038PersonalDataDays } from './migrations/migration-038-personal-data-days.ts';
import { Migration040RecoveredOrders } from './migrations/migration-040-recovered-orders.ts';
import { Migration041MoneyDayCorrections } from './migrations/migration-041-money-day-corrections.ts';
import { Migration042RecoveryErasures } from './migrations/migration-042-recovery-erasures.ts';
import { Migration043PayeeAccounts } from './migrations/migration-043-payee-accounts.ts';
import { Migration044SevenDigits } from './migrations/migration-044-seven-digits.ts';
import { Migration045OwnAccountRecovery } from './migrations/migration-045-own-account-recovery.ts';
import { Migration046AccountChanges } from './migrations/migration-046-account-changes.ts';
import { Migration047EndedOrdersVersion } from './migrations/migration-047-ended-orders-version.ts';
import { Migration048LostMerchants } from './migrations/migration-048-lost-merchants.ts';
import { Migration049RecoveryHolds } from './migrations/migration-049-recovery-holds.ts';
import { Migration050MasterKeyCheck } from './migrations/migration-050-master-key-check.ts';
import { Migration051PayerErasures } from './migrations/migration-051-payer-erasures.ts';
import { Migration052AskedSince } from './migrations/migration-052-asked-since.ts';
import { Migration053RemovedPayees } from './migrations/migration-053-removed-payees.ts';
import { Migration054HastenedReturns } from './migrations/migration-054-hastened-returns.ts';
import { Migration055ErasedPayments } from './migrations/migration-055-erased-payments.ts';
import { Migration056ConfirmedPayments } from './migrations/migration-056-confirmed-payments.ts';
import { Migration057UnpromptedPayments } from './migrations/migration-057-unprompted-payments.ts';

export type { Database } from '../../platform/database/open-database.ts';

/** Core's database. The caller closes it. */
export const openDatabase = (options: DatabaseOptions): Promise<Database> =>
  openSchema(
    {
      schema: 'core',
      entities,
      migrations: [
        Migration001Core,
        Migration002Payments,
        Migration003Reconciliation,
        Migration004Reversals,
        Migration005RequestLog,
        Migration006Accounts,
        Migration007MerchantTerms,
        Migration008Upkeep,
        Migration009Reports,
        Migration010WalletStatuses,
        Migration011PhoneStates,
        Migration012ReportQuarters,
        Migration013MerchantContact,
        Migration014AttemptOrigins,
        Migration015AccountHelp,
        Migration016PaymentLinks,
        Migration017PromptPlaces,
        Migration018RefusalReasons,
        Migration019AnyWallet,
        Migration020Refunds,
        Migration021PayerPayments,
        Migration022MerchantWallets,
        Migration023RefundRequests,
        Migration024RefundRoleLimits,
        Migration028IdempotencyKeys,
        Migration030SettledStraysWithoutOrder,
        Migration031Certifications,
        Migration032ExplainRequests,
        Migration033Recovery,
        Migration035EventChain,
        Migration036MoneyDays,
        Migration037Erasure,
        Migration038PersonalDataDays,
        Migration040RecoveredOrders,
        Migration041MoneyDayCorrections,
        Migration042RecoveryErasures,
        Migration043PayeeAccounts,
        Migration044SevenDigits,
        Migration045OwnAccountRecovery,
        Migration046AccountChanges,
        Migration047EndedOrdersVersion,
        Migration048LostMerchants,
        Migration049RecoveryHolds,
        Migration050MasterKeyCheck,
        Migration051PayerErasures,
        Migration052AskedSince,
        Migration053RemovedPayees,
        Migration054HastenedReturns,
        Migration055ErasedPayments,
        Migration056ConfirmedPayments,
        Migration057UnpromptedPayments,
      ],
      migrationLock: 7_142_001,
    },
    options,
  );
