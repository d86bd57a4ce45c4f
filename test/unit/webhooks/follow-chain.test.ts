import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { followChain } from '../../../src/webhooks/intake/follow-chain.ts';
import type { ChainLink } from '../../../src/webhooks/intake/follow-chain.ts';
import { forAll } from '../../support/for-all.ts';

const link = (index: number): ChainLink => ({ cursor: `c${index}`, previous: `c${index - 1}` });
const links = (...indexes: number[]): ChainLink[] => indexes.map(link);
const isKnown = (cursor: string): boolean => cursor === 'c3' || cursor === 'c4';

describe('a batch of events', () => {
  test.each([
    ['that continues after the last read event is accepted as it is', links(5, 6, 7), links(5, 6, 7), true],
    ['in another sequence is handled in the sequence of the list', links(7, 5, 6), links(5, 6, 7), true],
    ['with repeats is handled once', links(5, 6, 5, 6), links(5, 6), true],
    ['with known events continues after them', links(3, 4, 5), links(5), true],
    ['with a gap is incomplete, and is handled up to the gap', links(5, 7), links(5), false],
    ['without any known event is incomplete', links(2), [], false],
    ['without the cursor of the event is not trusted', [{ cursor: '', previous: 'c4' }], [], false],
  ])('%s', (_what, batch, next, isWhole) => {
    expect(followChain('c4', batch, isKnown)).toEqual({ next, isWhole });
  });

  test('at the beginning is not trusted without the cursor of the previous event', () => {
    expect(followChain('', [{ cursor: 'c1', previous: '' }], isKnown)).toEqual({ next: [], isWhole: false });
  });

  test('that refers to itself in a circle is followed once', () => {
    const circle = [
      { cursor: 'c5', previous: 'c4' },
      { cursor: 'c4', previous: 'c5' },
    ];
    expect(followChain('c4', circle, () => false).next).toHaveLength(2);
  });
});

/** The steps around a reader: events are committed, the broker delivers some, core is asked, or the process exits. */
const happening = fc.oneof(
  fc.record({ type: fc.constant('commit' as const), count: fc.integer({ min: 1, max: 5 }) }),
  fc.record({
    type: fc.constant('bring' as const),
    picks: fc.array(fc.nat(), { minLength: 1, maxLength: 8 }),
  }),
  fc.record({ type: fc.constant('bring the latest' as const), count: fc.integer({ min: 1, max: 8 }) }),
  fc.record({ type: fc.constant('look' as const) }),
  fc.record({ type: fc.constant('die' as const) }),
);

forAll([fc.array(happening, { maxLength: 60 })], { numRuns: 2_000 })(
  'each event is read once in the sequence of the list, however events are lost, repeated and reordered',
  (happenings) => {
    const list: ChainLink[] = [];
    const read: ChainLink[] = [];
    let known = new Set<string>();
    const cursor = (): string => read.at(-1)?.cursor ?? '';
    const advance = (next: readonly ChainLink[]): void => {
      read.push(...next);
      for (const each of next) known.add(each.cursor);
    };
    const look = (): void => advance(list.slice(read.length));
    const bring = (batch: readonly ChainLink[]): void => {
      const { next, isWhole } = followChain(cursor(), batch, (each) => known.has(each));
      if (isWhole) advance(next);
      else look();
    };
    for (const each of happenings) {
      if (each.type === 'commit')
        for (let count = 0; count < each.count; count += 1) list.push(link(list.length + 1));
      else if (each.type === 'look') look();
      else if (each.type === 'die') known = new Set();
      else if (each.type === 'bring the latest') bring(list.slice(-each.count));
      else bring(each.picks.flatMap((pick) => list[pick % Math.max(1, list.length)] ?? []));
      expect(read).toEqual(list.slice(0, read.length));
    }
    look();
    expect(read).toEqual(list);
  },
);
