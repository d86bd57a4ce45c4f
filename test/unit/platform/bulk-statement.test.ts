import { describe, expect, test } from '@jest/globals';
import {
  bulkStatement,
  column,
  plainColumn,
  rowList,
  scalar,
  textColumn,
} from '../../../src/platform/database/bulk-statement.ts';

interface Lane {
  readonly name: string;
  readonly dueAt: Date | null;
}

const lane = rowList<Lane>({
  name: column('text', ({ name }) => name),
  due_at: plainColumn('timestamptz', ({ dueAt }) => dueAt),
});
const lanes: readonly Lane[] = [
  { name: 'it’s "one", {two}', dueAt: new Date('2026-01-31T12:00:00.5Z') },
  { name: '', dueAt: null },
];

test('each part has its casts, its alias and its values at the same positions, however often it is used', () => {
  const statement = bulkStatement(
    'wake-lanes',
    {
      by: scalar<string>('text'),
      lane,
      ids: scalar<readonly string[]>('uuid[]'),
      delay: scalar<number>('float8'),
    },
    (sql) => `${sql.delay} ${sql.lane} ${sql.ids} ${sql.by} ${sql.by}`,
  );

  expect(statement.with({ delay: 5, ids: ['a', 'b'], by: 'sara', lane: lanes })).toEqual({
    name: 'wake-lanes',
    text: '$5::float8 unnest($2::text[], $3::timestamptz[]) as lane (name, due_at) $4::uuid[] $1::text $1::text',
    values: ['sara', ['it’s "one", {two}', ''], '{2026-01-31T12:00:00.500Z,null}', ['a', 'b'], 5],
  });
  expect(lane.columns).toBe('name, due_at');
});

test('one description serves several lists of a statement, and a statement may have no name', () => {
  const statement = bulkStatement(undefined, { old: lane, fresh: lane }, (sql) => `${sql.fresh} ${sql.old}`);

  expect(statement.with({ old: [], fresh: lanes.slice(1) })).toEqual({
    text: 'unnest($3::text[], $4::timestamptz[]) as fresh (name, due_at) unnest($1::text[], $2::timestamptz[]) as old (name, due_at)',
    values: [[], '{}', [''], '{null}'],
  });
});

test('texts of any characters and bytes are written as PostgreSQL reads them', () => {
  const written = rowList<string | null>({
    text: textColumn('text', (value) => value),
    bytes: textColumn('bytea', (value) => (value === null ? null : Buffer.from(value))),
  });
  const { values } = bulkStatement(undefined, { written }, (sql) => sql.written).with({
    written: ['it’s "one", {two}', 'back\\slash', '', 'NULL', null],
  });

  expect(values).toEqual([
    String.raw`{"it’s \"one\", {two}","back\\slash","","NULL",null}`,
    String.raw`{"\\x6974e280997320226f6e65222c207b74776f7d","\\x6261636b5c736c617368","\\x","\\x4e554c4c",null}`,
  ]);
});

test('a list can hide its length from the planner and number its rows', () => {
  const numbered = rowList<Lane>(
    { name: column('text', ({ name }) => name), due_at: column('date', ({ dueAt }) => dueAt) },
    { hidesLength: true, ordinal: 'place' },
  );
  const { text } = bulkStatement(undefined, { numbered }, (sql) => sql.numbered);

  expect(text).toBe(
    'unnest((select $1::text[]), $2::date[]) with ordinality as numbered (name, due_at, place)',
  );
});

test('plain values are written as PostgreSQL reads them', () => {
  const plain = rowList<number | bigint | string | Date | null | undefined>({
    value: plainColumn('text', (value) => value),
  });
  const { with: withValues } = bulkStatement(undefined, { plain }, (sql) => sql.plain);

  const at = new Date('2026-01-31T00:00:00Z');
  expect(withValues({ plain: [1, 2n, 'API', at, null, undefined] }).values).toEqual([
    '{1,2,API,2026-01-31T00:00:00.000Z,null,null}',
  ]);
});

describe('a statement that leaves out a part', () => {
  test('is refused when it is written, and not when it is first run', () => {
    const parts = { lane, delay: scalar<number>('float8') };

    expect(() => bulkStatement(undefined, parts, (sql) => sql.lane)).toThrow('leaves out its part delay');
    // @ts-expect-error A part that is not described is no part.
    expect(() => bulkStatement(undefined, { lane }, (sql) => `${sql.lane} ${sql.delay}`)).not.toThrow();
  });
});
