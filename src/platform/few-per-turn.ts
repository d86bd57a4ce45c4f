/**
 * Runs functions in order, a few in each turn of the event loop. It is for answers after which clients repeat their request
 * at once. Without this limit, these clients could extend a turn to seconds. Node reads from up to about ten thousand sockets
 * before it does anything else, such as sending accepted requests to core.
 */
export function createFewPerTurn(few: number): (act: () => void) => void {
  const waiting: (() => void)[] = [];
  const runSome = (): void => {
    for (const act of waiting.splice(0, few)) act();
    if (waiting.length > 0) setImmediate(runSome);
  };
  return (act) => {
    waiting.push(act);
    if (waiting.length === 1) setImmediate(runSome);
  };
}
