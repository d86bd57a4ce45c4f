/** The condition that a column contains a text, in any case. */
export const containing = (text: string): { readonly $ilike: string } => ({
  $ilike: `%${text.replace(/[\\%_]/g, '\\$&')}%`,
});
