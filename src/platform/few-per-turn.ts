/**
 * Runs what it is given in order, a few in each turn of the event loop. For answers that make their readers ask again at
 * once: without it those alone could keep a turn from ending for seconds, since Node reads from up to some ten thousand
 * sockets before it does anything else, such as sending what was accepted on its way.
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
