/** Checks the shape, not the class. Under some test runners, errors of node:net come from another realm. */
export const isError = (value: unknown): value is Error =>
  typeof value === 'object' && value !== null && 'name' in value && 'message' in value;

/** The code of a thrown value, or its name if it has no code. */
export function codeOf(error: unknown): string {
  if (!isError(error)) return 'unknown error';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
