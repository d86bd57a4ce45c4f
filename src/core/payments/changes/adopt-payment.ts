import type { EntityManager } from '@mikro-orm/postgresql';
import { dueWork } from '../../../contract/due-work.ts';
import { isPublicId, storedId } from '../../../contract/public-id.ts';
import type { StoredId } from '../../../contract/public-id.ts';
import { PaymentAttemptRow } from '../../database/order-entities.ts';
import { UnclaimedPaymentRow } from '../../database/recovery-entities.ts';
import { isInFlight } from '../../domain/order.ts';
import { paysAmount } from '../../domain/payer-payment.ts';
import type { AttemptId, Order, OrderInFull, PaymentAttempt, PaymentOption } from '../../domain/order.ts';
import { err, ok } from '../../domain/result.ts';
import { transition } from '../../domain/transition.ts';
import type { Wallet } from '../../domain/wallet.ts';
import { endOfAttemptId } from './attempt-ids.ts';
import type { AttemptIds, NumberedOrder } from './attempt-ids.ts';
import type { OrderChanges } from './change-orders.ts';
import type { Decision } from './order-change.ts';
import { lockPaidAccount, payeeOf } from './paid-account.sql.ts';
import { orderOfId } from './read-order.ts';

/** `account_missing`: the money is at a payee account for which the database has no credentials of the merchant. */
export type Adopted = 'adopted' | 'not_payable' | 'account_missing';

/** Records a lost payment as an attempt of its order. The wallet is asked about it, and is sent nothing. */
export type AdoptPayment = (
  order: Pick<Order, 'id'> & NumberedOrder,
  money: UnclaimedPaymentRow,
  requestId: string,
) => Promise<Adopted>;

export interface AdoptPaymentParts {
  readonly changes: Pick<OrderChanges, 'change'>;
  readonly attemptIds: AttemptIds;
  readonly wallets: readonly Wallet[];
}

/** An attempt that may adopt the payment; none when the order cannot take it. */
interface Adoption extends Decision {
  readonly attemptId: AttemptId | undefined;
}

const noAdoption: Adoption = { changed: undefined, attemptId: undefined };

export function createAdoptPayment({ changes, attemptIds, wallets }: AdoptPaymentParts): AdoptPayment {
  return async ({ id, merchantId, environment }, money, requestId) => {
    const adopted = await changes.change(orderOfId({ merchantId, environment, id }), {
      requestId,
      read: (em) => lockPaidAccount(em, storedId('mer', merchantId), money),
      decide(order, account, now) {
        if (!isOfOrder(order, money)) return ok({ ...noAdoption, account: null });
        if (account === undefined) return err('account_missing' as const);
        const attempt = recordedAttempt(order, money);
        const adoption =
          attempt === undefined
            ? startLostAttempt(order, money, { attemptIds, wallets, now })
            : continueAttempt(order, attempt);
        return ok({ ...adoption, account });
      },
      async write(em, { changed, attemptId, account }, { now }): Promise<Adopted> {
        if (attemptId === undefined) return 'not_payable';
        const row = await em.findOneOrFail(PaymentAttemptRow, {
          merchantId: storedId('mer', merchantId),
          id: storedId('pat', attemptId),
        });
        // A recorded attempt with the right account is decided like any other.
        if (changed === undefined && (await payeeOf(em, row)) === money.payee) return 'not_payable';
        await scheduleWalletQuery(em, row, money, account, now);
        return 'adopted';
      },
    });
    if (adopted.ok) return adopted.value;
    return adopted.error === 'account_missing' ? adopted.error : 'not_payable';
  };
}

/**
 * The attempt that the payment belongs to, if the database still has it. A lost attempt and a later one may have the same number. Then
 * their ids end alike and begin differently. Some wallets repeat the whole id.
 */
function recordedAttempt(
  { earlierAttempts, latestAttempt }: OrderInFull,
  { requestId, referenceEnd }: UnclaimedPaymentRow,
): PaymentAttempt | undefined {
  const all = [...earlierAttempts, ...(latestAttempt === null ? [] : [latestAttempt])];
  return all.find(({ id }) =>
    isPublicId('pat', requestId) ? id === requestId : endOfAttemptId(id) === referenceEnd,
  );
}

/**
 * Whether the money can be of an attempt of the order. Payers can enter the end of an attempt's id too. So money that names only the end and
 * has another amount is a separate payment, about which the wallet's answer for the attempt says nothing.
 */
const isOfOrder = (order: Order, money: UnclaimedPaymentRow): boolean =>
  isPublicId('pat', money.requestId) || paysAmount(order, money);

/**
 * Whether unclaimed money may still pay the order, so that the order must not end unpaid. The attempt of the money was lost, or is not
 * decided. A decided attempt does not change any more.
 */
export function mayPay(order: OrderInFull, money: UnclaimedPaymentRow): boolean {
  if (!isOfOrder(order, money)) return false;
  const attempt = recordedAttempt(order, money);
  return attempt === undefined || isInFlight(attempt);
}

/** The attempt was sent in the lost time. Only the statement tells which account it was sent with. */
const continueAttempt = ({ environment }: Order, attempt: PaymentAttempt): Adoption => ({
  changed: undefined,
  attemptId: isInFlight(attempt) ? attempt.id : undefined,
  makesDue: dueWork('payments', environment, attempt.paymentOption),
});

/** Starts the lost attempt again, with the id that the wallet knows. */
function startLostAttempt(
  order: OrderInFull,
  money: UnclaimedPaymentRow,
  { attemptIds, wallets, now }: Pick<AdoptPaymentParts, 'attemptIds' | 'wallets'> & { readonly now: Date },
): Adoption {
  const at = timeOfPayment(order, money, now);
  const number = attemptIds.endsOf(order).indexOf(money.referenceEnd) + 1;
  const attemptId = isPublicId('pat', money.requestId) ? money.requestId : attemptIds.next(order, number, at);
  const started = transition(
    order,
    {
      type: 'start_payment',
      attemptId,
      origin: order.paymentType === 'DIRECT' ? 'DIRECT' : 'CHECKOUT',
      paymentOption: optionOf(wallets, money.wallet),
      phone: order.customerPhone,
    },
    // After its expiry an order starts no payment. The wallet took this one, so it counts as started with the order.
    at < order.expiresAt ? at : order.createdAt,
  );
  if (!started.ok) return noAdoption;
  // The limits on prompts do not apply: they would delay the payment, and with it the opening of the environment.
  return { changed: started.value, attemptId, isAdopted: true };
}

/** When the wallet was paid, but neither before the order nor in the future. */
const timeOfPayment = ({ createdAt }: Order, { occurredAt }: UnclaimedPaymentRow, now: Date): Date =>
  new Date(Math.min(Math.max((occurredAt ?? now).getTime(), createdAt.getTime()), now.getTime()));

/** The wallet has the request, so it is queried for the outcome, and no payment request is sent. */
async function scheduleWalletQuery(
  em: EntityManager,
  row: PaymentAttemptRow,
  { environment, wallet, providerTransactionId }: UnclaimedPaymentRow,
  account: StoredId<'wac'> | null,
  now: Date,
): Promise<void> {
  const dueAt = row.dueAt ?? now;
  Object.assign(row, { status: 'UNKNOWN', maybeSent: true, walletAccountId: account, dueAt });
  await em.nativeUpdate(
    UnclaimedPaymentRow,
    { environment, wallet, providerTransactionId },
    { claimedAt: now },
  );
}

/** The option of a wallet that every type of order may use. */
function optionOf(wallets: readonly Wallet[], wallet: string): PaymentOption {
  const options = wallets.find(({ id }) => id === wallet)?.options ?? [];
  return options.find((option) => option.endsWith('_ussd')) ?? options[0] ?? `${wallet}_ussd`;
}
