/**
 * Gives a promise that resolves when this turn of the event loop has read from all its sockets. All callers of a turn get the
 * same one, so their answers are written one after another. Written between the readings instead, each answer would wake its
 * reader, which sleeps until then if it runs on the same machine.
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
