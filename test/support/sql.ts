/** A statement, and the values that PostgreSQL gets beside its text. */
export interface Statement {
  readonly text: string;
  readonly values: unknown[];
}

/** A statement whose values stand in its text: ``client.query(sql`select from core.orders where id = ${id}`)``. */
export const sql = (texts: TemplateStringsArray, ...values: unknown[]): Statement => ({
  text: texts.reduce((text, next, index) => `${text}$${index}${next}`),
  values,
});
