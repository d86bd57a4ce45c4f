/**
 * Text of others on one line, of at most `maxCharacters`. A longer text ends with `…`. It is cut between words, unless that
 * would leave out more than half.
 */
export function quote(text: string, maxCharacters: number): string {
  const line = text.replace(/\s+/g, ' ').trim();
  if (line.length <= maxCharacters) return line;
  const wordsEnd = line.lastIndexOf(' ', maxCharacters);
  return `${line.slice(0, wordsEnd > maxCharacters / 2 ? wordsEnd : maxCharacters)}…`;
}
