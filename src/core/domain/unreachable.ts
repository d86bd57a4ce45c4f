/** Reached only by a value that the types forbid, such as a corrupt row. */
export function unreachable(value: never): never {
  throw new TypeError(`${JSON.stringify(value)} is not possible here`);
}
