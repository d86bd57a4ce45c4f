import { mock } from 'node:test';
import { Code, ConnectError } from '@connectrpc/connect';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { limitFailures, limitLines } from '../../../src/platform/line-limit.ts';

const minuteMs = 60_000;

beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
afterEach(() => mock.timers.reset());

test('the first line of each kind is written at once, and further ones are counted once a minute', () => {
  const lines: [facts: string, count: number][] = [];
  const log = limitLines((facts: string, count) => lines.push([facts, count]));

  for (let number = 1; number <= 1_000; number += 1) log('scan', `scan ${number}`);
  log('other', 'other 1');
  expect(lines).toEqual([
    ['scan 1', 1],
    ['other 1', 1],
  ]);

  mock.timers.tick(minuteMs);
  expect(lines.slice(2)).toEqual([['scan 1000', 999]]);
  log('scan', 'scan 1001');
  expect(lines).toHaveLength(3);

  mock.timers.tick(minuteMs);
  expect(lines.slice(3)).toEqual([['scan 1001', 1]]);
});

test('after a minute without a line, the next one is written at once', () => {
  const lines: string[] = [];
  const log = limitLines((facts: string) => lines.push(facts));
  log('scan', 'first');
  log('scan', 'second');
  mock.timers.tick(minuteMs);
  mock.timers.tick(minuteMs);

  log('scan', 'third');

  expect(lines).toEqual(['first', 'second', 'third']);
});

test('more than one line in a minute is written, where the limit allows', () => {
  const lines: [facts: number, count: number][] = [];
  const log = limitLines((facts: number, count) => lines.push([facts, count]), 2);
  for (let number = 1; number <= 5; number += 1) log('scan', number);
  mock.timers.tick(minuteMs);
  log('scan', 6);

  expect(lines).toEqual([
    [1, 1],
    [2, 1],
    [5, 3],
    [6, 1],
  ]);
});

test('each thing that fails has lines of its own, for the same reason too', () => {
  const names: string[] = [];
  const log = limitFailures(
    (_error, name: string) => names.push(name),
    (name) => name,
  );
  for (const name of ['first', 'second', 'first']) log(new Error('refused'), name);

  expect(names).toEqual(['first', 'second']);
});

test('a failure that repeats is logged once a minute, and another reason at once', () => {
  const reasons: string[] = [];
  const log = limitFailures((error) => reasons.push((error as Error).message));
  for (let number = 1; number <= 100; number += 1) {
    log(new Error(`refused ${number} of 100`));
    log(new Error('full'));
    const spent = number % 2 === 0 ? ',LB pick: 0.001s' : '';
    log(new ConnectError(`Deadline exceeded after 5.00${number}s${spent}`, Code.DeadlineExceeded));
  }
  expect(reasons).toEqual(['refused 1 of 100', 'full', '[deadline_exceeded] Deadline exceeded after 5.001s']);

  mock.timers.tick(minuteMs);
  expect(reasons).toHaveLength(3);
  log(new Error('full'));
  log(new Error('full'));

  expect(reasons.slice(3)).toEqual(['full']);
});
