import { spawnSync } from 'node:child_process';
import { pathToFileURL } from 'node:url';
import { resolve } from 'node:path';
import { expect, test } from '@jest/globals';

const read: readonly [text: string, zone: string, time: string | null][] = [
  ['2026-03-10T23:30:00Z', '+03:00', '2026-03-10T23:30:00.000Z'],
  ['2026-03-10T23:30:00.25+03:00', 'Z', '2026-03-10T20:30:00.250Z'],
  ['2026-03-10T23:30:00-0530', 'Z', '2026-03-11T05:00:00.000Z'],
  ['2026-03-10T23:30:00', 'Z', '2026-03-10T23:30:00.000Z'],
  ['2026-03-10 23:30:00', 'Z', '2026-03-10T23:30:00.000Z'],
  ['2026-03-10T23:30:00', '+03:00', '2026-03-10T20:30:00.000Z'],
  ['2026-03-10 23:30:00', '+03:00', '2026-03-10T20:30:00.000Z'],
  ['yesterday', 'Z', null],
  ['', 'Z', null],
];

// The time zone of a running process cannot be changed for one test.
test.each(['Africa/Nairobi', 'America/St_Johns', 'UTC'])(
  'the time of an entry does not depend on the time zone of the machine, such as %s',
  (TZ) => {
    const module = pathToFileURL(
      resolve(import.meta.dirname, '../../../src/wallets/connector/statement-time.ts'),
    ).href;
    const code = `import { statementTime } from ${JSON.stringify(module)};
      const times = JSON.parse(process.argv[1]).map(([text, zone]) => statementTime(text, zone) ?? null);
      console.log(JSON.stringify([new Date(2026, 0).getTimezoneOffset() === 0, times]));`;
    const { stdout, stderr } = spawnSync(
      process.execPath,
      ['--input-type=module', '--eval', code, JSON.stringify(read)],
      { encoding: 'utf8', env: { ...process.env, TZ } },
    );

    expect(stderr).not.toContain('Error');
    expect(JSON.parse(stdout)).toEqual([TZ === 'UTC', read.map(([, , time]) => time)]);
  },
);
