import fc from 'fast-check';

// The promises to a merchant in their shortest form. The model has no batches, no cores and no database.

const moneys = ['100', '100.00', '20.00'] as const;
const reasons = ['Shoes', 'Socks'] as const;
const phones = ['0911000001', '+251911000001', '0911000002'] as const;

export interface Registration {
  readonly what: 'register';
  readonly number: number;
  readonly amount: (typeof moneys)[number];
  readonly reason: (typeof reasons)[number];
}
export interface Payment {
  readonly what: 'direct';
  readonly number: number;
  readonly amount: (typeof moneys)[number];
  readonly phone: (typeof phones)[number];
}
export interface Look {
  readonly what: 'get';
  readonly number: number;
}
/** A registration or payment that cannot create an order. */
export interface Nonsense {
  readonly what: 'nonsense';
  readonly number: number;
}
export type Item = Registration | Payment | Look | Nonsense;

/** One call to one core. Registrations, payments and reads have separate batches. */
export interface Batch {
  readonly core: 0 | 1;
  readonly method: 'register' | 'direct' | 'get';
  readonly items: readonly Item[];
}

/** Batches that are sent at once, and order numbers whose sessions end when all have been answered. */
export interface Round {
  readonly batches: readonly Batch[];
  readonly endsSessionsOf: readonly number[];
}

/** Few numbers, so that the same one occurs within a batch, in two batches at once, and again later. */
export const numbersOfHistory = 6;
const number = fc.nat(numbersOfHistory - 1);
const nonsense = fc.record({ what: fc.constant('nonsense' as const), number });
const itemsOf = {
  register: fc.oneof(
    {
      weight: 9,
      arbitrary: fc.record({
        what: fc.constant('register' as const),
        number,
        amount: fc.constantFrom(...moneys),
        reason: fc.constantFrom(...reasons),
      }),
    },
    { weight: 1, arbitrary: nonsense },
  ),
  direct: fc.oneof(
    {
      weight: 9,
      arbitrary: fc.record({
        what: fc.constant('direct' as const),
        number,
        amount: fc.constantFrom(...moneys),
        phone: fc.constantFrom(...phones),
      }),
    },
    { weight: 1, arbitrary: nonsense },
  ),
  get: fc.record({ what: fc.constant('get' as const), number }),
};
const batch: fc.Arbitrary<Batch> = fc
  .tuple(
    fc.constantFrom(0 as const, 1 as const),
    fc.constantFrom('register' as const, 'direct' as const, 'get' as const),
  )
  .chain(([core, method]) =>
    fc
      .array<Item>(itemsOf[method], { minLength: 1, maxLength: 10 })
      .map((items) => ({ core, method, items })),
  );
export const anyHistory: fc.Arbitrary<readonly Round[]> = fc.array(
  fc.record({
    batches: fc.array(batch, { minLength: 1, maxLength: 5 }),
    endsSessionsOf: fc.array(number, { maxLength: 1 }),
  }),
  { minLength: 1, maxLength: 6 },
);

/** The answer to one item: an order, or a reason. */
export type Answer =
  | {
      readonly orderId: string;
      readonly paymentType: 'API' | 'DIRECT';
      /** The attempt that a payment got; empty otherwise. */
      readonly attemptId: string;
      readonly repeated: boolean;
    }
  | { readonly reason: string };

export interface Answered {
  readonly item: Item;
  readonly answer: Answer;
}

export interface KnownOrder {
  readonly orderId: string;
  readonly paymentType: 'API' | 'DIRECT';
  readonly amount: string;
  /** The reason of its registration; empty for a direct payment. */
  readonly reason: string;
  status: 'PENDING' | 'EXPIRED';
  attempt: { readonly id: string; readonly phone: string } | undefined;
}

const money = (text: string): number => Number(text);
const phoneOf = (text: string): string => text.replace(/^\+251/, '0');
const isWon = (answer: Answer): answer is Exclude<Answer, { reason: string }> =>
  'orderId' in answer && !answer.repeated;

/**
 * Checks all answers about one order number that were given at once, in any sequence. Exactly one item can have
 * created the order, and one can have started its payment. The other answers follow from these two. Returns those
 * that do not.
 */
export function takeIn(
  known: Map<number, KnownOrder>,
  orderNumber: number,
  answered: readonly Answered[],
): string[] {
  const before = known.get(orderNumber);
  const winners = answered.filter(({ item, answer }) => item.what !== 'get' && isWon(answer));
  const faults: string[] = [];
  if (before === undefined) {
    const makers = winners.filter(({ item, answer }) => isMaker(item, answer));
    const couldMake = answered.some(({ item }) => item.what === 'register' || item.what === 'direct');
    if (makers.length !== (couldMake ? 1 : 0)) faults.push(`${makers.length} items made it`);
    const made = makers[0] && orderMadeBy(makers[0]);
    if (made !== undefined) known.set(orderNumber, made);
  }
  const order = known.get(orderNumber);
  const starters = winners.filter(({ item }) => item.what === 'direct');
  const startable = answered.some(({ item }) => order !== undefined && isStartable(order, item));
  if (starters.length !== (startable ? 1 : 0)) faults.push(`${starters.length} items started its payment`);
  for (const { item, answer } of starters.slice(0, 1)) {
    if (order === undefined || item.what !== 'direct' || !('orderId' in answer)) continue;
    order.attempt = { id: answer.attemptId, phone: phoneOf(item.phone) };
  }
  for (const { item, answer } of answered) {
    const expected = expectedOf(order, before !== undefined, item);
    if (!expected.includes(inWords(answer)))
      faults.push(
        `${JSON.stringify(item)} was answered ${inWords(answer)} instead of ${expected.join(' or ')}`,
      );
  }
  return faults;
}

const isMaker = ({ what }: Item, answer: Answer): boolean =>
  what === 'register' || (what === 'direct' && 'orderId' in answer && answer.paymentType === 'DIRECT');

/** Whether a payment could be the one that starts: no other is in progress, and it has the order's amount. */
const isStartable = (order: KnownOrder, item: Item): boolean =>
  item.what === 'direct' &&
  order.status === 'PENDING' &&
  order.attempt === undefined &&
  money(order.amount) === money(item.amount);

function orderMadeBy({ item, answer }: Answered): KnownOrder | undefined {
  if (!('orderId' in answer) || (item.what !== 'register' && item.what !== 'direct')) return undefined;
  return {
    orderId: answer.orderId,
    paymentType: item.what === 'register' ? 'API' : 'DIRECT',
    amount: item.amount,
    reason: item.what === 'register' ? item.reason : '',
    status: 'PENDING',
    attempt: undefined,
  };
}

function inWords(answer: Answer): string {
  if (!('orderId' in answer)) return answer.reason;
  return answer.attemptId === '' ? answer.orderId : `${answer.orderId} ${answer.attemptId}`;
}

/** The allowed answers to an item after the round. There are two only for a read during the creation. */
function expectedOf(order: KnownOrder | undefined, wasThere: boolean, item: Item): string[] {
  if (item.what === 'nonsense') return ['INVALID_FIELDS'];
  if (order === undefined) return ['ORDER_NOT_FOUND'];
  const { orderId, attempt, status } = order;
  switch (item.what) {
    case 'get':
      return wasThere ? [orderId] : [orderId, 'ORDER_NOT_FOUND'];
    case 'register': {
      const isSame =
        order.paymentType === 'API' &&
        status === 'PENDING' &&
        money(order.amount) === money(item.amount) &&
        order.reason === item.reason;
      return [isSame ? orderId : 'ORDER_NUMBER_TAKEN'];
    }
    case 'direct':
      if (money(order.amount) !== money(item.amount)) return ['ORDER_NUMBER_TAKEN'];
      if (attempt?.phone === phoneOf(item.phone)) return [`${orderId} ${attempt.id}`];
      if (status !== 'PENDING' || order.paymentType === 'DIRECT') return ['ORDER_NUMBER_TAKEN'];
      return ['PAYMENT_IN_PROGRESS'];
  }
}
