/** What a wallet said, fit to be stored: PostgreSQL's text has no NUL, and no honest text is longer than `maxLength`. */
export const walletText = (text: string, maxLength: number): string =>
  text.slice(0, maxLength).replaceAll('\0', '\uFFFD');
