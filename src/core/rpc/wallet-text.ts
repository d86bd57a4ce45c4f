/** A wallet's text, ready to store: without NUL, which PostgreSQL's text cannot contain, and cut to `maxLength`. */
export const walletText = (text: string, maxLength: number): string =>
  text.slice(0, maxLength).replaceAll('\0', '\uFFFD');
