import { isUniqueViolation } from '../../../platform/database/explain-error.ts';

/**
 * Makes a change in a transaction of its own. Makes it once more if another transaction has committed a row with the same key meanwhile,
 * such as the use of a wallet's transaction. The second try finds that row.
 */
export const makeAgainIfTaken = <Made>(make: () => Promise<Made>): Promise<Made> =>
  make().catch((error: unknown) => {
    if (!isUniqueViolation(error)) throw error;
    return make();
  });
