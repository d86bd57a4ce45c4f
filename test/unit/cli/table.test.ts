import { expect, test } from '@jest/globals';
import { adviceLines, defaultWidth, fields, printable, table as tableOf } from '../../../src/cli/table.ts';
import type { Column } from '../../../src/cli/table.ts';

const table = (columns: readonly Column[], rows: readonly (readonly string[])[], width = defaultWidth) =>
  tableOf(columns, rows, width);

const widest = (text: string): number => Math.max(...text.split('\n').map((line) => line.length));

test('columns are aligned with their heads, without blanks at the ends of lines', () => {
  const text = table(
    [{ head: 'A' }, { head: 'NAME' }, { head: 'C' }],
    [
      ['1', 'short', 'x'],
      ['2', 'a bit longer', ''],
    ],
  );

  expect(text).toBe('A  NAME          C\n1  short         x\n2  a bit longer');
});

test('the wrapping column is wrapped between words until the table fits 100 columns', () => {
  const words = 'a fairly ordinary sentence '.repeat(8).trim();

  const text = table([{ head: 'ID' }, { head: 'TEXT', wraps: true }], [['x'.repeat(30), words]]);

  expect(widest(text)).toBeLessThanOrEqual(100);
  expect(text.replace(/\s+/g, ' ')).toContain(words);
});

test('a table can have very many rows with long texts', () => {
  const sentence = Array.from({ length: 150 }, (_, index) => `word${index}`).join(' ');
  const rows = Array.from({ length: 1_000 }, (_, index) => [String(index), `${sentence} ${index}`]);

  const text = table([{ head: 'ID' }, { head: 'TEXT', wraps: true }], rows);

  expect(text.match(/word0/g)).toHaveLength(rows.length);
});

test('a command on a line of its own in the last column is not wrapped', () => {
  const command = `> gatehouse webhook redeliver ${'<merchant_id> '.repeat(8)}--since <time>`;

  const text = table(
    [{ head: '' }, { head: '', wraps: true }],
    [['failed', `${'word '.repeat(40).trim()}\n${command}\nthen wait`]],
  );

  const lines = text.split('\n').map((line) => line.slice('failed  '.length));
  expect(lines).toContain(command);
  expect(lines.at(-1)).toBe('then wait');
  expect(widest(text.replace(command, ''))).toBeLessThanOrEqual(100);
});

test('the second of two wrapping columns gets the width that the first does not need', () => {
  const words = (count: number): string => 'word '.repeat(count).trim();

  const text = table(
    [
      { head: 'A', wraps: true },
      { head: 'B', wraps: true },
    ],
    [[words(8), words(14)]],
  );

  expect(widest(text)).toBeLessThanOrEqual(100);
  expect(text).toContain(words(14));
});

const people = {
  columns: [
    { head: 'EMAIL, NAME', wraps: true },
    { head: 'ROLE' },
    { head: 'STATE', atMost: 26 },
    { head: 'LAST SIGNED IN' },
  ],
  rows: [
    [
      'a.rather.long.address.of.somebody@accounting.shop.example\nSara Bekele',
      'owner',
      'invited until 2026-11-20T22:48:32Z',
      '2026-11-20T22:48:32Z',
    ],
    ['ab@shop.example', 'viewer', 'may sign in', ''],
  ],
};

test.each([20, 40, 60, 80, 100, 120, 200])(
  'ids, e-mail addresses and URLs are not wrapped on a terminal that is %i columns wide',
  (width) => {
    const url = `https://shop.example/${'0123456789'.repeat(3)}`;
    const shown = [
      table(people.columns, people.rows, width),
      table(
        [
          { head: 'ACTOR', atMost: 10 },
          { head: 'URL', wraps: true },
        ],
        [['sara@shop.example', url]],
        width,
      ),
      fields([['URL', url]], width),
    ].join('\n');

    for (const word of [...people.rows.flat(), 'sara@shop.example', url].flatMap((cell) => cell.split(/\s/)))
      expect(shown.split(/\s/)).toContain(word);
  },
);

test('a table is at most as wide as its terminal, and becomes a list of values otherwise', () => {
  expect(widest(table(people.columns, people.rows, 120))).toBeLessThanOrEqual(120);
  expect(table(people.columns, people.rows, 60)).toBe(
    [
      'EMAIL, NAME     a.rather.long.address.of.somebody@accounting.shop.example',
      '                Sara Bekele',
      'ROLE            owner',
      'STATE           invited until 2026-11-20T22:48:32Z',
      'LAST SIGNED IN  2026-11-20T22:48:32Z',
      '',
      'EMAIL, NAME     ab@shop.example',
      'ROLE            viewer',
      'STATE           may sign in',
    ].join('\n'),
  );
});

test('a long value of such a list is wrapped between words', () => {
  const columns = [{ head: 'WALLET' }, { head: 'HEALTH' }];

  expect(table(columns, [['walleta', 'not reported: it has no health check']], 30)).toBe(
    ['WALLET  walleta', 'HEALTH  not reported: it has', '        no health check'].join('\n'),
  );
});

test('characters that are two columns wide count as two', () => {
  const text = table(
    [{ head: 'NAME' }, { head: 'NEXT' }],
    [
      ['日本', 'a'],
      ['abcd', 'b'],
    ],
  );

  expect(text).toBe('NAME  NEXT\n日本  a\nabcd  b');
});

test('amounts are aligned to the right', () => {
  const text = table([{ head: 'AMOUNT', right: true }], [['1.00 ETB'], ['1000.00 ETB']]);

  expect(text.split('\n')).toEqual(['     AMOUNT', '   1.00 ETB', '1000.00 ETB']);
});

test('an advice is printed as sentences, and its commands unchanged', () => {
  const text = adviceLines('restart core. It repairs them\ncheck each:\ngatehouse order list');

  expect(text).toBe('> Restart core. It repairs them.\n> Check each:\n> gatehouse order list');
});

test('values are aligned after their names, and names without a value are omitted', () => {
  expect(
    fields(
      [
        ['Name', 'Shop'],
        ['Label', ''],
        ['Status', 'active'],
      ],
      80,
    ),
  ).toBe('Name    Shop\nStatus  active');
});

test.each([
  ['an escape sequence', '\u001b[2Jgone', '\\u001b[2Jgone'],
  ['a carriage return', 'paid\rfree', 'paid\\u000dfree'],
  ['a C1 control', 'a\u009bb', 'a\\u009bb'],
  ['a change of direction', 'abc\u202edef', 'abc\\u202edef'],
])('%s is shown as text', (_what, text, shown) => {
  expect(printable(text)).toBe(shown);
  expect(table([{ head: 'X' }], [[text]])).toContain(shown);
});

test('letters of any script, emoji and line breaks stay unchanged', () => {
  const text = 'ቡና ☕ 咖啡\nقهوة';

  expect(printable(text)).toBe(text);
});
