/** An error that prevents Gatehouse from starting. The message says what it is and what to do. */
export class StartError extends Error {
  override readonly name = 'StartError';
}
