import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  initialLane,
  isCircuitOpen,
  laneAfter,
  nextAction,
  wantedHeads,
} from '../../../src/webhooks/delivery/lane-machine.ts';
import type { Lane, LaneAction, LaneEvent, LaneStage } from '../../../src/webhooks/delivery/lane-machine.ts';
import type { NextStep } from '../../../src/webhooks/delivery/after-attempt.ts';
import type { EndedAttempt } from '../../../src/webhooks/delivery/write-attempts.sql.ts';
import type { OutgoingDelivery } from '../../../src/webhooks/domain/delivery.ts';
import { buildDelivery, buildReport } from '../../integration/webhooks/outgoing.ts';
import { failuresBeforeOpen, maxInFlight } from '../../../src/webhooks/domain/lane-health.ts';
import { forAll } from '../../support/for-all.ts';

const random = (): number => 0.5;
const endedAt = new Date('2026-11-22T10:00:00Z');
const terms = { nowMs: 0, share: maxInFlight, hasSlot: true };

const delivery = (id: string): OutgoingDelivery => buildDelivery('https://shop.example/hook', { id });

const steps: Record<NextStep['type'], NextStep> = {
  delivered: { type: 'delivered' },
  again: { type: 'again', at: endedAt },
  pause: { type: 'pause', at: endedAt },
  abandon: { type: 'abandon' },
};
const attempt = (id: string, next: NextStep['type']): EndedAttempt => ({
  delivery: delivery(id),
  report: buildReport({ startedAt: endedAt, result: next === 'delivered' ? 'DELIVERED' : 'REFUSED' }),
  endedAt,
  next: steps[next],
});

interface Leased {
  readonly heads?: readonly string[];
  readonly hasMore?: boolean;
  readonly failures?: number;
}
const lane = ({ heads = [], hasMore = false, failures = 0 }: Leased = {}): Lane =>
  initialLane({
    health: {
      consecutiveFailures: failures,
      probeAt: failures >= failuresBeforeOpen ? new Date(endedAt.getTime() - 1) : undefined,
    },
    isProven: true,
    heads: heads.map(delivery),
    hasMore,
    beginUntilMs: 1_000,
  });

const after = (start: Lane, ...events: readonly LaneEvent[]): Lane => events.reduce(laneAfter, start);
const sendBegan = (deliveryId: string): LaneEvent => ({ type: 'send_began', deliveryId });
const ended = (id: string, next: NextStep['type'] = 'delivered'): LaneEvent => ({
  type: 'attempt_ended',
  attempt: attempt(id, next),
  random,
});

/** The action that the machine returns, in a form for tables. */
function shown(action: LaneAction | undefined): string {
  switch (action?.type) {
    case undefined:
      return 'wait';
    case 'send':
      return `send ${action.delivery.id}`;
    case 'read':
      return 'read';
    case 'record':
      return `record ${action.attempt.delivery.id}${action.isRelease ? ' and release' : ''}`;
    case 'release':
      return `release${action.abandonExpired ? ' after abandoning' : ''}`;
  }
}

describe('the next action of a lane', () => {
  const sending = after(lane({ heads: ['a'] }), sendBegan('a'));
  test.each<[string, Lane, Partial<typeof terms>, string]>([
    ['with a delivery and a slot', lane({ heads: ['a'] }), {}, 'send a'],
    ['without a slot', lane({ heads: ['a'] }), { hasSlot: false }, 'wait'],
    ['without a share', lane({ heads: ['a'] }), { share: 0 }, 'wait'],
    ['when the lease ends before an attempt would', lane({ heads: ['a'] }), { nowMs: 1_000 }, 'wait'],
    ['with nothing to send', lane(), {}, 'release'],
    ['when all read deliveries are sent and more are due', lane({ hasMore: true }), {}, 'read'],
    ['while a delivery is in progress', sending, {}, 'wait'],
    ['after a hint of new deliveries', after(sending, { type: 'may_have_new' }), {}, 'read'],
    ['while a read is in progress', after(lane({ hasMore: true }), { type: 'read_began' }), {}, 'wait'],
    ['after the last attempt', after(sending, ended('a')), {}, 'record a and release'],
    [
      'after an attempt beside another',
      after(lane({ heads: ['a', 'b'] }), sendBegan('a'), sendBegan('b'), ended('a')),
      {},
      'record a',
    ],
    [
      'while the last outcome is being recorded',
      after(sending, ended('a'), { type: 'record_began', deliveryId: 'a', isRelease: false }),
      {},
      'wait',
    ],
    [
      'after the failed probe of an endpoint whose circuit is open',
      after(lane({ heads: ['a'], failures: failuresBeforeOpen }), sendBegan('a'), ended('a', 'again')),
      {},
      'record a',
    ],
    [
      'with an open circuit and nothing to send',
      lane({ failures: failuresBeforeOpen }),
      {},
      'release after abandoning',
    ],
  ])('is the expected one %s', (_, state, changed, expected) => {
    expect(shown(nextAction(state, { ...terms, ...changed }))).toBe(expected);
  });
});

describe('the stage of a lane', () => {
  const stages: readonly LaneStage[] = ['SENDING', 'DRAINING', 'RELEASING', 'RELEASED'];
  const drained: readonly LaneStage[] = ['DRAINING', 'DRAINING', 'RELEASING', 'RELEASED'];
  const inStage: Record<LaneStage, Lane> = {
    SENDING: lane({ heads: ['a'] }),
    DRAINING: after(lane({ heads: ['a'] }), { type: 'stop' }),
    RELEASING: after(lane(), { type: 'release_began' }),
    RELEASED: after(lane(), { type: 'lost' }),
  };
  test.each<[string, LaneEvent, readonly LaneStage[]]>([
    ['a stop', { type: 'stop' }, drained],
    ['a refused read', { type: 'read_refused' }, drained],
    ['an interrupted attempt', { type: 'send_interrupted', deliveryId: 'a' }, drained],
    ['a failure to send', { type: 'send_failed', deliveryId: 'a' }, drained],
    ['410 Gone', ended('a', 'pause'), drained],
    ['a delivery', ended('a'), stages],
    ['a pause that a renewal reports', { type: 'renewed', beginUntilMs: 2, mustDrain: true }, drained],
    ['a renewal', { type: 'renewed', beginUntilMs: 2, mustDrain: false }, stages],
    ['a release that begins', { type: 'release_began' }, ['RELEASING', 'RELEASING', 'RELEASING', 'RELEASED']],
    ['an expired lease', { type: 'lost' }, ['RELEASED', 'RELEASED', 'RELEASED', 'RELEASED']],
    ['a failed read', { type: 'read_failed' }, stages],
    ['a stored result', { type: 'recorded', deliveryId: 'a', lease: 'held' }, stages],
    ['a stored result of a paused lane', { type: 'recorded', deliveryId: 'a', lease: 'paused' }, drained],
    [
      'a result that another process may store',
      { type: 'recorded', deliveryId: 'a', lease: 'over' },
      ['RELEASED', 'RELEASED', 'RELEASED', 'RELEASED'],
    ],
  ])('is the expected one after %s', (_, event, expected) => {
    expect(stages.map((stage) => laneAfter(inStage[stage], event).stage)).toEqual(expected);
  });
});

test('the circuit opens with the fifth failure in a row, and one delivery closes it', () => {
  let state = lane({ heads: ['a'], failures: failuresBeforeOpen - 1 });
  state = after(state, sendBegan('a'), ended('a', 'again'));
  expect(isCircuitOpen(state)).toBe(true);
  expect(isCircuitOpen(after(state, ended('b')))).toBe(false);
});

/** The actions that the machine has begun and that have not ended yet, in a model without stages. */
interface World {
  lane: Lane;
  readonly sending: string[];
  readonly recording: string[];
  readonly recorded: string[];
  readonly attempted: string[];
  reading: number;
  releasing: boolean;
  stopped: boolean;
  nextId: number;
  /** The actions that it must not take. */
  readonly violations: string[];
}

function carryOut(world: World): void {
  for (;;) {
    const action = nextAction(world.lane, terms);
    if (action === undefined) return;
    switch (action.type) {
      case 'send':
        check(world, !world.stopped && !world.releasing, 'a send after a stop or a release');
        check(world, !isUnderWay(world, action.delivery.id), 'a delivery that is under way twice');
        world.sending.push(action.delivery.id);
        world.lane = laneAfter(world.lane, sendBegan(action.delivery.id));
        check(world, world.sending.length <= maxInFlight, 'more attempts than a lane may have');
        break;
      case 'read':
        check(world, world.reading === 0, 'two reads at once');
        world.reading = wantedHeads(world.lane).limit;
        check(world, world.reading > 0, 'a read of nothing');
        world.lane = laneAfter(world.lane, { type: 'read_began' });
        break;
      case 'record': {
        const { id } = action.attempt.delivery;
        check(world, !world.recording.includes(id), 'an outcome that is recorded twice');
        world.recording.push(id);
        if (action.isRelease) check(world, isDrained(world, 1), 'a release while something is under way');
        world.releasing ||= action.isRelease;
        world.lane = laneAfter(world.lane, {
          type: 'record_began',
          deliveryId: id,
          isRelease: action.isRelease,
        });
        break;
      }
      case 'release':
        check(world, isDrained(world, 0), 'a release while something is under way');
        world.releasing = true;
        world.lane = laneAfter(world.lane, { type: 'release_began' });
        break;
    }
  }
}

/** An `expect` for each action would take most of the time. */
function check({ violations }: World, holds: boolean, violation: string): void {
  if (!holds) violations.push(violation);
}

const isUnderWay = ({ sending, recording }: World, id: string): boolean =>
  sending.includes(id) || recording.includes(id);

const isDrained = ({ sending, recording, reading, releasing }: World, ownRecord: number): boolean =>
  sending.length === 0 && recording.length === ownRecord && reading === 0 && !releasing;

const outcomes = ['delivered', 'again', 'pause', 'abandon'] as const;

/** An action in progress ends, or an outside event occurs, as `choice` selects. */
function happen(world: World, choice: number): void {
  const pick = <T>(from: T[]): T | undefined => from.splice(choice % Math.max(1, from.length), 1)[0];
  switch (choice % 8) {
    case 0:
    case 1: {
      const id = pick(world.sending);
      if (id === undefined) return;
      world.attempted.push(id);
      world.lane = laneAfter(world.lane, ended(id, outcomes[(choice >> 3) % 4] ?? 'delivered'));
      return;
    }
    case 2: {
      const id = pick(world.sending);
      if (id === undefined) return;
      const type =
        (['send_not_begun', 'send_interrupted', 'send_failed'] as const)[(choice >> 3) % 3] ??
        'send_interrupted';
      world.lane = laneAfter(world.lane, { type, deliveryId: id });
      return;
    }
    case 3: {
      const id = pick(world.recording);
      if (id === undefined) return;
      world.recorded.push(id);
      const lease = world.releasing
        ? 'over'
        : ((['held', 'held', 'paused'] as const)[(choice >> 3) % 3] ?? 'held');
      world.lane = laneAfter(world.lane, { type: 'recorded', deliveryId: id, lease });
      return;
    }
    case 4: {
      if (world.reading === 0) return;
      const heads = Array.from({ length: (choice >> 3) % (world.reading + 1) }, () =>
        delivery(`d${world.nextId++}`),
      );
      world.lane = laneAfter(world.lane, { type: 'heads_read', heads, asked: world.reading });
      world.reading = 0;
      return;
    }
    case 5:
      if (world.reading > 0)
        world.lane = laneAfter(world.lane, { type: choice % 16 > 8 ? 'read_failed' : 'read_refused' });
      world.reading = 0;
      return;
    case 6:
      world.lane = laneAfter(world.lane, { type: 'may_have_new' });
      return;
    default:
      world.lane = laneAfter(world.lane, {
        type: 'renewed',
        beginUntilMs: 1_000,
        mustDrain: choice % 40 === 7,
      });
  }
}

forAll([fc.array(fc.nat(4_000), { maxLength: 120 }), fc.nat(3)], { numRuns: 500 })(
  'in any sequence of events, no delivery is in progress twice, every outcome is recorded once, and the lane is released',
  (choices, headCount) => {
    const heads = Array.from({ length: headCount }, (_, index) => `h${index}`);
    const world: World = {
      lane: lane({ heads, hasMore: true }),
      sending: [],
      recording: [],
      recorded: [],
      attempted: [],
      reading: 0,
      releasing: false,
      stopped: false,
      nextId: 0,
      violations: [],
    };
    carryOut(world);
    for (const choice of choices) {
      happen(world, choice);
      carryOut(world);
    }
    world.stopped = true;
    world.lane = laneAfter(world.lane, { type: 'stop' });
    carryOut(world);
    // All actions in progress end.
    for (let round = 0; round < 100 && !(world.releasing && world.recording.length === 0); round += 1) {
      for (const choice of [0, 3, 4]) happen(world, choice);
      carryOut(world);
    }
    const { violations, releasing, sending, recorded } = world;
    expect({ violations, releasing, sending, recorded: recorded.sort() }).toEqual({
      violations: [],
      releasing: true,
      sending: [],
      recorded: world.attempted.sort(),
    });
  },
);
