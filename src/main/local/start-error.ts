/** Something that keeps Gatehouse from starting. The message says what it is and what to do about it. */
export class StartError extends Error {
  override readonly name = 'StartError';
}
