import type { AccountChange } from '../../events/account-changes.ts';
import type { StoredId } from '../../../contract/public-id.ts';
import type { Environment } from '../../domain/order.ts';

interface Payment {
  readonly merchantId: StoredId<'mer'>;
  readonly environment: Environment;
  readonly wallet: string;
  readonly createdAt: Date;
}

/** Which account a merchant's new payments used at which time, as far as the stream of events tells. */
export interface AccountTimeline {
  readonly add: (changes: readonly AccountChange[]) => void;
  /** The account at the payment's time, null for the operator's; undefined when no earlier change is known. */
  readonly at: (payment: Payment) => StoredId<'wac'> | null | undefined;
}

const keyOf = ({ merchantId, environment, wallet }: Omit<Payment, 'createdAt'>): string =>
  `${merchantId} ${environment} ${wallet}`;

export function createAccountTimeline(): AccountTimeline {
  const changesOf = new Map<string, AccountChange[]>();
  return {
    add(changes) {
      for (const change of changes) {
        const all = changesOf.get(keyOf(change)) ?? [];
        all.push(change);
        all.sort((a, b) => a.changedAt.getTime() - b.changedAt.getTime());
        changesOf.set(keyOf(change), all);
      }
    },
    at: (payment) =>
      changesOf.get(keyOf(payment))?.findLast(({ changedAt }) => changedAt <= payment.createdAt)
        ?.walletAccountId,
  };
}
