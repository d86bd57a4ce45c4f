import { WalletWorkKind } from '../gen/gatehouse/v1/wallet_status_service_pb.js';
import type { WalletSettings } from './wallet-settings.ts';

/** A kind of work at a wallet. Each kind has a worker of its own, with its own limit of concurrent items: `max_in_flight`. */
export type WorkKind = 'payments' | 'reversals' | 'payer_payments';

/** The kinds of work at a wallet. */
export const workKindsOf = ({ payerStarted }: Pick<WalletSettings, 'payerStarted'>): readonly WorkKind[] => [
  'payments',
  'reversals',
  ...(payerStarted === undefined ? [] : (['payer_payments'] as const)),
];

/** The names in reports to core. */
export const reportedKinds = {
  payments: WalletWorkKind.PAYMENTS,
  reversals: WalletWorkKind.REVERSALS,
  payer_payments: WalletWorkKind.PAYER_PAYMENTS,
} as const satisfies Record<WorkKind, WalletWorkKind>;
