import type { Pool } from 'pg';
import { runStatement } from '../../platform/database/run-statement.ts';

export interface Walk {
  /** The table with its alias and the conditions that an index serves: `core.orders o where …`. */
  readonly source: string;
  /** The alias of the source. */
  readonly row: string;
  /** The conditions for each examined row, whose alias is `w`. */
  readonly wanted: readonly string[];
  /** The number of rows that the walk examines at most. */
  readonly rows: number;
  /** The number of rows to find. */
  readonly limit: number;
  /** The parameters of all conditions. */
  readonly values: unknown[];
}

export interface Walked<Id> {
  /** Highest first, so newest first. */
  readonly ids: readonly Id[];
  /** The id down to which rows were examined; undefined when none is left. */
  readonly searchedTo: Id | undefined;
}

/**
 * Walks back from the newest row of the source, through a bounded number of rows, and returns the ids of those that match. The statement is
 * planned each time, because its values determine the better index.
 */
export async function walk<Id extends string>(
  pool: Pool,
  { source, row, wanted, rows, limit, values }: Walk,
): Promise<Walked<Id>> {
  // One statement, so that both parts see the same rows. In a later snapshot, rows added since the walk would move its end
  // up, and the next walk would find rows again. The second part runs only when the page is not full.
  const found = await runStatement<{ id: Id; isEnd: boolean }>(pool, {
    text: `
with found as materialized (
  select w.id
  from (select ${row}.* from ${source} order by ${row}.id desc limit ${rows}) w
  where ${['true', ...wanted].join(' and ')}
  order by w.id desc
  limit ${limit}
)
select id, false as "isEnd" from found
union all
(
  select ${row}.id, true from ${source} and (select count(*) from found) < ${limit}
  order by ${row}.id desc offset ${rows - 1} limit 1
)
order by "isEnd", id desc`,
    values,
  });
  const ids = found.filter(({ isEnd }) => !isEnd).map(({ id }) => id);
  if (ids.length === limit) return { ids, searchedTo: ids.at(-1) };
  return { ids, searchedTo: found.find(({ isEnd }) => isEnd)?.id };
}

export interface SearchBounds {
  /** The maximum number of walks per call. Each is a short statement, so that payments are not delayed. */
  readonly walks: number;
  /** No walk begins after this time, in milliseconds, because callers time out after five seconds. */
  readonly beginWithinMs: number;
  /** A monotonic clock, in milliseconds. */
  readonly monotonicMs: () => number;
}

/** Covers up to a million rows, in about a second of a PostgreSQL core. */
export const searchBounds = { walks: 20, beginWithinMs: 1_500 } as const;

export interface Walks<Id> {
  /** Only lower ids. */
  readonly belowId: Id | undefined;
  /** The number of rows to find. */
  readonly wanted: number;
  readonly walk: (belowId: Id | undefined, limit: number) => Promise<Walked<Id>>;
}

/** Repeats a walk until it has found enough rows, or none is left, or the bounds end the call (docs/adr/0010). */
export async function walkBack<Id>(
  { walks, beginWithinMs, monotonicMs }: SearchBounds,
  { belowId, wanted, walk: walkFrom }: Walks<Id>,
): Promise<Walked<Id>> {
  const until = monotonicMs() + beginWithinMs;
  const ids: Id[] = [];
  let searchedTo: Id | undefined;
  for (let count = 1; ; count += 1) {
    const found = await walkFrom(searchedTo ?? belowId, wanted - ids.length);
    ids.push(...found.ids);
    searchedTo = found.searchedTo;
    const isOver = searchedTo === undefined || ids.length === wanted;
    if (isOver || count >= walks || monotonicMs() >= until) return { ids, searchedTo };
  }
}
