/**
 * Whether an id of ours names the return of money: a TypeID other than that of a payment attempt (`pat_…`). A UUID without a
 * prefix can name either.
 */
export const isIdOfReversal = (requestId: string): boolean => /^(?!pat_)[a-z]+_/.test(requestId);
