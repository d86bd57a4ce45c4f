/** Fails the test when it does not come within the ten seconds after which supervisors kill. */
export function withinTenSeconds<T>(what: string, result: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took longer than 10 s`)), 10_000);
  });
  return Promise.race([result, late]).finally(() => clearTimeout(timer));
}
