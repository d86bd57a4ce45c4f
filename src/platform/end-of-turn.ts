/**
 * Gives a promise that resolves when this turn of the event loop has read from all its sockets. All callers of a turn get the
 * same promise, so their answers are written one after another. An answer that is written between two readings wakes a client on the same
 * machine at once, which takes a CPU from this process.
 */
export function createEndOfTurn(): () => Promise<void> {
  let end: Promise<void> | undefined;
  return () =>
    (end ??= new Promise((resolve) => {
      setImmediate(() => {
        end = undefined;
        resolve();
      });
    }));
}
