import pTimeout from 'p-timeout';

/** Fails the test when the result takes longer than the ten seconds after which supervisors kill a process. */
export const withinTenSeconds = <T>(what: string, result: Promise<T>): Promise<T> =>
  pTimeout(result, { milliseconds: 10_000, message: `${what} took longer than 10 s` });
