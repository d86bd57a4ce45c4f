/** The demo cannot continue. The message says what to do. */
export class DemoStopped extends Error {
  override readonly name = 'DemoStopped';
}
