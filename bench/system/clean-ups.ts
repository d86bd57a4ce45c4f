/** The things that were started and must be stopped, the last one first. */
export interface CleanUps {
  readonly add: (cleanUp: () => unknown) => void;
  /** Runs all clean-ups once. Errors are thrown after all have been tried. */
  readonly run: () => Promise<void>;
  /** The clean-ups of a part. They run with these, unless they ran earlier. */
  readonly nest: () => CleanUps;
}

export function createCleanUps(): CleanUps {
  const cleanUps: (() => unknown)[] = [];
  const add = (cleanUp: () => unknown): void => void cleanUps.push(cleanUp);
  return {
    add,
    nest: () => {
      const nested = createCleanUps();
      add(nested.run);
      return nested;
    },
    run: async () => {
      const failures: unknown[] = [];
      for (const cleanUp of cleanUps.splice(0).toReversed()) {
        try {
          await cleanUp();
        } catch (error) {
          failures.push(error);
        }
      }
      if (failures.length > 0) throw new AggregateError(failures, 'not everything could be stopped');
    },
  };
}
