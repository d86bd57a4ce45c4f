import { isPublicId, publicId, storedId } from '../../../contract/public-id.ts';
import type { Logger } from '../../../platform/logger.ts';
import type { Database } from '../../database/database.ts';
import { OrderRow, PaymentAttemptRow } from '../../database/order-entities.ts';
import { recovering } from '../../database/payment-gate.ts';
import type { PaymentGate } from '../../database/payment-gate.ts';
import { UnclaimedPaymentRow } from '../../database/recovery-entities.ts';
import { isInFlight } from '../../domain/order.ts';
import type { Environment, Order, PaymentOption } from '../../domain/order.ts';
import { err, ok } from '../../domain/result.ts';
import { transition } from '../../domain/transition.ts';
import type { Wallet } from '../../domain/wallet.ts';
import { endOfAttemptId } from './attempt-ids.ts';
import type { AttemptIds, NumberedOrder } from './attempt-ids.ts';
import type { OrderChanges } from './change-orders.ts';
import { lockPaidAccount, payeeOf } from './paid-account.sql.ts';
import { orderOfId } from './read-order.ts';

/**
 * Payments at wallets whose orders were lost with the database. When the order is sent again, it gets its payment and is not
 * charged a second time.
 */
export interface ClaimPayments {
  /** Whether a wallet has money of this order that no record has. It reads nothing while no such money is known. */
  readonly isPaid: (order: NumberedOrder) => Promise<boolean>;
  /**
   * Gives the order its lost payment as an attempt that the wallet is asked about. Returns whether there was one.
   * @throws PHONE_BUSY, PHONE_LIMIT like any attempt; RECOVERING when the merchant has no account with which the wallet can be asked
   */
  readonly claim: (order: Pick<Order, 'id'> & NumberedOrder, requestId: string) => Promise<boolean>;
  /** Claims for every PENDING order. Returns the number of claimed payments. */
  readonly claimAll: (environment: Environment) => Promise<number>;
}

export interface ClaimPaymentsParts {
  readonly database: Database;
  readonly changes: Pick<OrderChanges, 'change'>;
  readonly attemptIds: AttemptIds;
  readonly gate: Pick<PaymentGate, 'hasUnclaimed'>;
  readonly wallets: readonly Wallet[];
  readonly logger: Pick<Logger, 'warn'>;
}

const pageSize = 500;

/** `account_missing`: the money is at a payee account of which the merchant has no credentials here. */
type Adopted = 'adopted' | 'not_payable' | 'account_missing';

export function createClaimPayments(parts: ClaimPaymentsParts): ClaimPayments {
  const { database, changes, attemptIds, gate, wallets } = parts;

  const find = async (order: NumberedOrder): Promise<UnclaimedPaymentRow | undefined> => {
    const [found] = await database.fork().find(
      UnclaimedPaymentRow,
      {
        environment: order.environment,
        referenceEnd: { $in: [...attemptIds.endsOf(order)] },
        claimedAt: null,
      },
      { orderBy: { foundAt: 'asc' }, limit: 1 },
    );
    return found;
  };

  const adopt = async (
    { id, merchantId, environment }: Pick<Order, 'id'> & NumberedOrder,
    money: UnclaimedPaymentRow,
    requestId: string,
  ): Promise<Adopted> => {
    const option = optionOf(wallets, money.wallet);
    const adopted = await changes.change(orderOfId({ merchantId, environment, id }), {
      requestId,
      read: (em) => lockPaidAccount(em, storedId('mer', merchantId), money),
      decide(order, account, now) {
        if (account === undefined) return err('account_missing' as const);
        const known = [
          ...order.earlierAttempts,
          ...(order.latestAttempt === null ? [] : [order.latestAttempt]),
        ];
        const paid = known.find((attempt) => endOfAttemptId(attempt.id) === money.referenceEnd);
        // It was sent in the lost time, and nothing but the statement tells with which account.
        if (paid !== undefined)
          return ok({
            changed: undefined,
            attemptId: isInFlight(paid) ? paid.id : undefined,
            account,
            makesDue: 'attempt' as const,
          });
        const at = new Date(
          Math.min(Math.max((money.occurredAt ?? now).getTime(), order.createdAt.getTime()), now.getTime()),
        );
        const number = attemptIds.endsOf(order).indexOf(money.referenceEnd) + 1;
        const attemptId = isPublicId('pat', money.requestId)
          ? money.requestId
          : attemptIds.next(order, number, at);
        const started = transition(
          order,
          {
            type: 'start_payment',
            attemptId,
            origin: order.paymentType === 'DIRECT' ? 'DIRECT' : 'CHECKOUT',
            paymentOption: option,
            phone: order.customerPhone,
          },
          at < order.expiresAt ? at : order.createdAt,
        );
        return ok({
          changed: started.ok ? started.value : undefined,
          attemptId: started.ok ? attemptId : undefined,
          account,
        });
      },
      async write(em, { changed, attemptId, account }, { now }): Promise<Adopted> {
        if (attemptId === undefined) return 'not_payable';
        const row = await em.findOneOrFail(PaymentAttemptRow, {
          merchantId: storedId('mer', merchantId),
          id: storedId('pat', attemptId),
        });
        // A payment of the right account is decided as any other.
        if (changed === undefined && (await payeeOf(em, row)) === money.payee) return 'not_payable';
        // The wallet has its request, so the wallet is asked and nothing is sent.
        const dueAt = row.dueAt ?? now;
        Object.assign(row, { status: 'UNKNOWN', maybeSent: true, walletAccountId: account, dueAt });
        const { wallet, providerTransactionId } = money;
        await em.nativeUpdate(
          UnclaimedPaymentRow,
          { environment, wallet, providerTransactionId },
          { claimedAt: now },
        );
        return 'adopted';
      },
    });
    if (adopted.ok) return adopted.value;
    return adopted.error === 'account_missing' ? adopted.error : 'not_payable';
  };

  const claim: ClaimPayments['claim'] = async (order, requestId) => {
    if (!gate.hasUnclaimed(order.environment)) return false;
    const money = await find(order);
    if (money === undefined) return false;
    const adopted = await adopt(order, money, requestId);
    if (adopted === 'account_missing') {
      const { merchantId: merchant_id, id: order_id } = order;
      parts.logger.warn(
        { merchant_id, order_id, wallet: money.wallet, payee: money.payee },
        "an order was paid before the restore, and its merchant's wallet account with that payee is missing; add the account again",
      );
      // The order must be neither charged again nor asked about with other credentials, which would not find its payment.
      throw recovering();
    }
    return adopted === 'adopted';
  };

  return {
    isPaid: async (order) => gate.hasUnclaimed(order.environment) && (await find(order)) !== undefined,
    claim,
    async claimAll(environment) {
      const em = database.fork();
      const unclaimed = await em.find(UnclaimedPaymentRow, { environment, claimedAt: null });
      if (unclaimed.length === 0) return 0;
      const byEnd = new Map(unclaimed.map((money) => [money.referenceEnd, money]));
      let claimed = 0;
      for (let after = '00000000-0000-0000-0000-000000000000'; ;) {
        const rows = await database
          .fork()
          .find(
            OrderRow,
            { environment, status: 'PENDING', id: { $gt: after as OrderRow['id'] } },
            { orderBy: { id: 'asc' }, limit: pageSize },
          );
        for (const row of rows) {
          const order = {
            id: publicId('ord', row.id),
            merchantId: publicId('mer', row.merchantId),
            environment,
            orderNumber: row.orderNumber,
          };
          const money = attemptIds.endsOf(order).flatMap((end) => byEnd.get(end) ?? [])[0];
          if (money !== undefined && (await adopt(order, money, '')) === 'adopted') claimed += 1;
        }
        const last = rows.at(-1);
        if (last === undefined || rows.length < pageSize) return claimed;
        after = last.id;
      }
    },
  };
}

/** The option of a wallet that every type of order may use. */
function optionOf(wallets: readonly Wallet[], wallet: string): PaymentOption {
  const options = wallets.find(({ id }) => id === wallet)?.options ?? [];
  return options.find((option) => option.endsWith('_ussd')) ?? options[0] ?? `${wallet}_ussd`;
}
