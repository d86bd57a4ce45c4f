import type { Sample } from './contenders.ts';

/** All samples of a contender at a number of connections. */
export interface Measured {
  readonly contender: string;
  readonly connections: number;
  readonly samples: readonly Sample[];
}
