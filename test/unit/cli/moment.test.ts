import { timestampDate } from '@bufbuild/protobuf/wkt';
import { Command } from 'commander';
import { expect, test } from '@jest/globals';
import { momentOption, timestampOf } from '../../../src/cli/moment.ts';
import type { Moment } from '../../../src/cli/moment.ts';

const now = new Date('2026-11-21T12:00:00.750Z');

function read(text: string): string {
  const program = new Command().addOption(momentOption('--since <time>', ''));
  const { since } = program.parse(['--since', text], { from: 'user' }).opts<{ since: Moment }>();
  return timestampDate(timestampOf(since, now)).toISOString();
}

test.each([
  ['2026-01-31', '2026-01-31T00:00:00.000Z'],
  ['2026-01-31T08:30:00.125+03:00', '2026-01-31T05:30:00.125Z'],
  ['90s', '2026-11-21T11:58:30.000Z'],
  ['7d', '2026-11-14T12:00:00.000Z'],
  ['0s', '2026-11-21T12:00:00.000Z'],
])('%s is parsed as %s', (text, time) => {
  expect(read(text)).toBe(time);
});
