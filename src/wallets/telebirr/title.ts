/** Half of the documented limit, which also fits titles of several bytes a character. */
const maxTitleLength = 256;

/** One line without the characters that telebirr refuses in titles. Characters are cut whole. */
export function titleOf(description: string): string {
  const plain = description.replace(/[~`!#$%^*()\-+=|/<>?;:"[\]{}\\&'\s\p{Cc}]+/gu, ' ').trim();
  let title = '';
  for (const character of plain) {
    if (title.length + character.length > maxTitleLength) break;
    title += character;
  }
  return title === '' ? 'Payment' : title;
}
