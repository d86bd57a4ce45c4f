/** Public ids. The rules never parse them. The types prevent a mix-up of different kinds. */
export type MerchantId = `mer_${string}`;
export type OrderId = `ord_${string}`;
export type AttemptId = `pat_${string}`;
export type RefundId = `rfd_${string}`;
export type StrayPaymentId = `stp_${string}`;
export type SettlementId = `stl_${string}`;
export type WalletAccountId = `wac_${string}`;

/** The environment of an order. Data of the two environments are separate. */
export type Environment = 'SANDBOX' | 'PRODUCTION';

/**
 * The wallet, and the channel in which the customer confirms. `ussd` is a prompt on the phone. `wallet` is the wallet's own app
 * or page, for the hosted checkout only.
 */
export type PaymentOption = `${string}_ussd` | `${string}_wallet`;
