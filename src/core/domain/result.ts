/** Either a value or the reason there is none. Expected failures are returned, so that no caller can overlook them. */
export type Result<T, E> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: E };

/** The result that carries a value. */
export function ok<T>(value: T): Result<T, never> {
  return { ok: true, value };
}

/** The result that carries the reason there is no value. */
export function err<E>(error: E): Result<never, E> {
  return { ok: false, error };
}
