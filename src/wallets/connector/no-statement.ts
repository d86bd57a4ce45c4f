import { StatementError } from './statement-error.ts';
import type { StatementPage } from './wallet-connector.ts';

/** The statement of a wallet that has none. Reading it throws a StatementError. */
export const noStatement = (wallet: string): AsyncIterable<StatementPage> => ({
  [Symbol.asyncIterator]: () => ({
    next: () => {
      const detail = `${wallet} has no statement`;
      return Promise.reject(new StatementError({ kind: 'unknown', why: 'not_asked', detail }, []));
    },
  }),
});
