/** A text of a page's query, without blanks around it; '' when absent. Page tokens are shorter than its limit. */
export function textIn(query: unknown, name: string, maxLength = 2048): string {
  const value: unknown = (query as Readonly<Record<string, unknown>>)[name];
  return typeof value === 'string' ? value.trim().slice(0, maxLength) : '';
}

/** The query with the values that are not empty; '' without any. */
export function queryOf(values: Readonly<Record<string, string>>): string {
  const given = Object.entries(values).filter(([, value]) => value !== '');
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
}

/** The query of the page at a token; undefined without a token. */
export const pageQuery = (values: Readonly<Record<string, string>>, page: string): string | undefined =>
  page === '' ? undefined : queryOf({ ...values, page });
