/** By shape, not by class: the errors of node:net are of another realm than this file's `Error` under some test runners. */
export const isError = (value: unknown): value is Error =>
  typeof value === 'object' && value !== null && 'name' in value && 'message' in value;

/** The code of whatever was thrown; its name when it has none. */
export function codeOf(error: unknown): string {
  if (!isError(error)) return 'unknown error';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
