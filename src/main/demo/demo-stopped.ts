/** The demo cannot go on; the message says what to do. */
export class DemoStopped extends Error {
  override readonly name = 'DemoStopped';
}
