/** What was started and must be stopped again, the last first. */
export interface CleanUps {
  readonly add: (cleanUp: () => unknown) => void;
  /** Does them all, once; what fails is thrown when all have been tried. */
  readonly run: () => Promise<void>;
  /** Clean-ups of a part: run with these, unless they ran before. */
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
