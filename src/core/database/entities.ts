import { accountEntities } from './account-entities.ts';
import { AuditEntryRow } from './audit-entities.ts';
import { ApiKeyRow, CertificationRow, MerchantRow } from './merchant-entities.ts';
import {
  OrderEventRow,
  OrderRow,
  PaymentAttemptRow,
  RefundRow,
  SettlementRow,
  StrayPaymentRow,
  WalletExchangeRow,
} from './order-entities.ts';
import { payerPaymentEntities } from './payer-payment-entities.ts';
import {
  ReconciliationDifferenceRow,
  ReconciliationRow,
  StatementEntryRow,
} from './reconciliation-entities.ts';
import { recoveryEntities } from './recovery-entities.ts';
import { ApiRequestRow } from './request-log-entities.ts';
import { PayeeAccountRow, WalletAccountRow } from './wallet-account-entity.ts';

/*
 * Rows as they are stored. Only the stores use them. All other code uses the domain's types.
 * The migrations define the schema, with checks and partial indexes that an entity cannot express.
 */

export const entities = [
  ...accountEntities,
  MerchantRow,
  CertificationRow,
  ApiKeyRow,
  OrderRow,
  PaymentAttemptRow,
  WalletAccountRow,
  PayeeAccountRow,
  OrderEventRow,
  AuditEntryRow,
  WalletExchangeRow,
  StrayPaymentRow,
  RefundRow,
  SettlementRow,
  ...payerPaymentEntities,
  ...recoveryEntities,
  ReconciliationRow,
  StatementEntryRow,
  ReconciliationDifferenceRow,
  ApiRequestRow,
];
