/**
 * The account reference of an attempt, at most 12 letters and digits. It is the random end of the attempt's id. The payer
 * sees it in the prompt. M-Pesa shows it in its statement and in confirmations, where it identifies the attempt.
 */
export const accountReference = (attemptId: string): string =>
  attemptId
    .replace(/[^A-Za-z0-9]/g, '')
    .slice(-12)
    .toUpperCase();

/** The end of the id of the attempt whose account reference this may be; undefined for any other text. */
export const attemptIdEnd = (reference: string): string | undefined =>
  /^[0-9a-hjkmnp-tv-z]{12}$/i.test(reference) ? reference.toLowerCase() : undefined;
