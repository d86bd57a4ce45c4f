import type { Evidence } from './evidence.ts';
import type { Finding, Invariant } from './invariant.ts';
import type { Charge, OrderRecord } from './records.ts';

const moneyText = (hundredths: number): string => `${(hundredths / 100).toFixed(2)} ETB`;
const sumOf = (amounts: readonly number[]): number => amounts.reduce((sum, each) => sum + each, 0);

/** Each order with what the wallets charged for it: by our reference, or by the payer, whose phone only this order has. */
function chargesByOrder({ orders, records, charges }: Evidence) {
  const byReference = Map.groupBy(charges, ({ reference }) => reference);
  const byPayer = Map.groupBy(charges, ({ payer }) => payer);
  const shared = new Set(orders.filter(({ story }) => story === 'odd').map(({ phone }) => phone));
  const recorded = new Map(records.map((record) => [record.orderNumber, record]));
  return orders.map(({ orderNumber, phone }) => {
    const record = recorded.get(orderNumber);
    const own = record?.attempts.flatMap(({ reference }) => byReference.get(reference) ?? []) ?? [];
    const ofPayer = shared.has(phone) ? [] : (byPayer.get(phone) ?? []);
    return { orderNumber, record, charges: [...new Set<Charge>([...own, ...ofPayer])] };
  });
}

const chargedOnce: Invariant = {
  name: 'charged_at_most_once',
  promise: 'No payer is charged twice for an order.',
  judge: (evidence) => {
    const all = chargesByOrder(evidence).filter(({ charges }) => charges.length > 0);
    return {
      compared: all.length,
      of: 'orders that a wallet has charged',
      violations: all
        .filter(({ charges }) => charges.length > 1)
        .map(({ orderNumber, charges }) => ({
          orderNumber,
          seen: `charged ${charges.length} times, by ${charges.map(({ wallet, transaction, amount }) => `${wallet} ${transaction} (${moneyText(amount)})`).join(', ')}`,
        })),
    };
  },
};

const recordedFirst: Invariant = {
  name: 'charges_recorded_first',
  promise: 'Before a wallet is asked for money, the attempt with its reference is stored.',
  judge: ({ charges, records, orders }) => {
    const attempts = new Map(
      records.flatMap(({ orderNumber, attempts: own }) =>
        own.map(({ reference, createdAtMs }) => [reference, { orderNumber, createdAtMs }]),
      ),
    );
    const orderOf = new Map(orders.map(({ phone, orderNumber }) => [phone, orderNumber]));
    return {
      compared: charges.length,
      of: 'charges of the wallets',
      violations: charges.flatMap(
        ({ reference, wallet, transaction, payer, amount, chargedAtMs }): Finding[] => {
          const attempt = attempts.get(reference);
          if (attempt === undefined)
            return [
              {
                orderNumber: orderOf.get(payer) ?? '',
                seen: `${wallet} ${transaction} charged ${moneyText(amount)} for no stored attempt`,
              },
            ];
          // The two clocks may differ, so a little is allowed.
          return attempt.createdAtMs <= chargedAtMs + 1_000
            ? []
            : [
                {
                  orderNumber: attempt.orderNumber,
                  seen: `${wallet} ${transaction} is older than its attempt`,
                },
              ];
        },
      ),
    };
  },
};

const isOpen = ({ strays }: OrderRecord): boolean => strays.some(({ status }) => status === 'REVERSAL_DUE');

const noUnpaidEnd: Invariant = {
  name: 'no_charge_without_completion',
  promise: 'No order ends unpaid while the payer has been charged, unless the money is on its way back.',
  judge: (evidence) => {
    const unpaid = chargesByOrder(evidence).filter(
      ({ record }) => record?.status === 'FAILED' || record?.status === 'EXPIRED',
    );
    return {
      compared: unpaid.length,
      of: 'orders that ended unpaid',
      violations: unpaid.flatMap(({ orderNumber, record, charges }): Finding[] => {
        const kept = sumOf(charges.map(({ amount, reversed }) => amount - reversed));
        return kept === 0 || (record !== undefined && isOpen(record))
          ? []
          : [{ orderNumber, seen: `it is ${record?.status ?? ''}, and the wallet keeps ${moneyText(kept)}` }];
      }),
    };
  },
};

const completedMeansCharged: Invariant = {
  name: 'completed_means_charged',
  promise: 'A COMPLETED order was charged by the wallet, with exactly its amount and currency.',
  judge: (evidence) => {
    const completed = chargesByOrder(evidence).filter(({ record }) => record?.status === 'COMPLETED');
    return {
      compared: completed.length,
      of: 'completed orders',
      violations: completed.flatMap(({ orderNumber, record, charges }): Finding[] => {
        const isExact = charges.some(
          ({ amount, currency }) =>
            amount === record?.amount && amount === record.deducted && currency === record.currency,
        );
        return isExact
          ? []
          : [
              {
                orderNumber,
                seen: `${moneyText(record?.deducted ?? 0)} deducted, charged: ${charges.map(({ amount }) => moneyText(amount)).join(', ') || 'nothing'}`,
              },
            ];
      }),
    };
  },
};

const refundsExact: Invariant = {
  name: 'refunds_paid_once',
  promise:
    'A refund is paid once: what the wallet returned is the sum of completed refunds and reversals, at most what was paid.',
  judge: (evidence) => {
    const asked = new Map(evidence.orders.map(({ orderNumber, refund }) => [orderNumber, refund]));
    const returned = chargesByOrder(evidence).filter(
      ({ orderNumber, record, charges }) =>
        asked.get(orderNumber) !== undefined ||
        (record?.refunds.length ?? 0) > 0 ||
        charges.some(({ reversed }) => reversed > 0),
    );
    return {
      compared: returned.length,
      of: 'orders with refunds or reversals',
      violations: returned.flatMap(({ orderNumber, record, charges }): Finding[] => {
        const refunds = record?.refunds ?? [];
        const done = sumOf(refunds.filter(({ status }) => status === 'REVERSED').map(({ amount }) => amount));
        const strays = sumOf(
          (record?.strays ?? []).filter(({ status }) => status === 'REVERSED').map(({ amount }) => amount),
        );
        const reversed = sumOf(charges.map((charge) => charge.reversed));
        const number = asked.get(orderNumber)?.number;
        const faults: Finding[] = [];
        if (number !== undefined && !refunds.some((refund) => refund.number === number))
          faults.push({ orderNumber, seen: `the accepted refund ${number} is not stored` });
        if (reversed !== done + strays || done !== (record?.refunded ?? 0))
          faults.push({
            orderNumber,
            seen: `the wallet returned ${moneyText(reversed)}; refunds completed: ${moneyText(done)}, reversed: ${moneyText(strays)}, on the order: ${moneyText(record?.refunded ?? 0)}`,
          });
        if (done > (record?.deducted ?? 0))
          faults.push({
            orderNumber,
            seen: `${moneyText(done)} refunded of ${moneyText(record?.deducted ?? 0)}`,
          });
        return faults;
      }),
    };
  },
};

const moneyAddsUp: Invariant = {
  name: 'money_adds_up',
  promise: 'What the wallets keep is what completed orders deducted, less their refunds, to the last cent.',
  judge: ({ charges, records }) => {
    const kept = sumOf(charges.map(({ amount, reversed }) => amount - reversed));
    const ours = sumOf(records.map(({ deducted, refunded }) => deducted - refunded));
    return {
      compared: charges.length,
      of: `charges (${moneyText(kept)} kept)`,
      violations:
        kept === ours
          ? []
          : [
              {
                orderNumber: '',
                seen: `the wallets keep ${moneyText(kept)}, our records say ${moneyText(ours)}`,
              },
            ],
    };
  },
};

/** The invariants about money. */
export const moneyInvariants: readonly Invariant[] = [
  chargedOnce,
  recordedFirst,
  noUnpaidEnd,
  completedMeansCharged,
  refundsExact,
  moneyAddsUp,
];
