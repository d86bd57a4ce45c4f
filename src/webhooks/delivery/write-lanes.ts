import type { Pool } from 'pg';
import { inTransaction } from '../../platform/database/in-transaction.ts';
import { secretOwnerOf } from '../domain/delivery.ts';
import type { LaneKey } from '../domain/delivery.ts';
import { healthAfter } from '../domain/lane-health.ts';
import { sharingSecrets } from '../secrets/secret-rows.ts';
import { shortResult } from './after-attempt.ts';
import { laneText } from './lane-arrays.ts';
import { lockedLanes, lockingLanes } from './lock-lanes.sql.ts';
import type { LockedLane } from './lock-lanes.sql.ts';
import { lanesAfter, releasingLanes } from './release-lanes.sql.ts';
import type { LaneRelease } from './release-lanes.sql.ts';
import { deliveriesOf, readingWritten, writingAttempts } from './write-attempts.sql.ts';
import type { EndedAttempt, LaneOutcome } from './write-attempts.sql.ts';

/** A write for a held lane: the outcome of an attempt, a release, or both. */
export interface LaneWrite {
  readonly lane: LaneKey;
  readonly leaseId: string;
  readonly attempt?: EndedAttempt;
  /** Present: the lane is released. */
  readonly release?: LaneReleaseTerms;
  /** An earlier write failed. It may have been committed, and its answer lost. */
  readonly isRepeat?: boolean;
}

export type LaneReleaseTerms = Omit<LaneRelease, 'lane'>;

export type LaneWriteResult =
  | {
      readonly isHeld: true;
      /** Nothing more may be sent on the lane. */
      readonly isPaused: boolean;
      /** After a release: whether the lane has deliveries to send now. */
      readonly isDue: boolean;
      /** After a release: whether `postponeWaiting` must run before the lane can send. */
      readonly areHeadsHidden: boolean;
    }
  /**
   * The lane was released, another process holds it, or it was removed. Nothing was written now. `isWritten`: the earlier write of
   * a repeated attempt was committed.
   */
  | { readonly isHeld: false; readonly isWritten: boolean };

/**
 * Makes all writes in one transaction. A lane's part is written only if its lease id is still the leased one. An
 * expired lease does not matter while no other process has leased the lane. So attempts made before a database restart
 * are recorded and not sent again. It takes only two round trips, because the intake of new deliveries waits for the locks meanwhile.
 */
export function writeLanes(
  pool: Pool,
  writes: readonly LaneWrite[],
  options: { readonly leaseMs: number; readonly random: () => number },
): Promise<LaneWriteResult[]> {
  const byLane = Map.groupBy(writes, ({ lane }) => laneText(lane));
  const lock = lockingLanes(
    [...byLane.values()].flatMap(([first]) => (first === undefined ? [] : [first.lane])),
  );
  const unsigned = writes.filter(({ release }) => release?.awaitsSecret === true);
  const repeated = writes.flatMap(({ attempt, isRepeat }) =>
    attempt !== undefined && isRepeat === true ? [attempt] : [],
  );
  const opening = [
    ...(unsigned.length > 0 ? [sharingSecrets(unsigned.map(({ lane }) => secretOwnerOf(lane)))] : []),
    lock,
    // Behind the lock, because the earlier write may be committed while this one waits for it.
    ...(repeated.length > 0 ? [readingWritten(repeated)] : []),
  ];
  return inTransaction(pool, opening, async (_, opened, commitWith) => {
    const locked = lockedLanes(opened.at(unsigned.length > 0 ? 1 : 0) ?? []);
    const written = deliveriesOf(repeated.length > 0 ? (opened.at(-1) ?? []) : []);
    const unwrittenOf = ({ attempt, isRepeat }: LaneWrite): EndedAttempt[] =>
      attempt === undefined || (isRepeat === true && written.has(attempt.delivery.id)) ? [] : [attempt];
    const isHeld = ({ lane, leaseId }: LaneWrite): boolean => locked.get(laneText(lane))?.leaseId === leaseId;
    const held = writes.filter(isHeld);
    const outcomes = [...locked].flatMap(([text, lane]) =>
      outcomeOf(lane, (byLane.get(text) ?? []).filter(isHeld).flatMap(unwrittenOf), options.random),
    );
    const attempts = held.flatMap(unwrittenOf);
    const releases = held.flatMap(({ lane, release }) => (release === undefined ? [] : { lane, ...release }));
    // The release comes last, because it must see the written attempts.
    const rowsOfEach = await commitWith([
      ...(attempts.length > 0 ? [writingAttempts(attempts, outcomes, options.leaseMs)] : []),
      ...(releases.length > 0 ? [releasingLanes(releases)] : []),
    ]);
    const { due, hidden } = lanesAfter(releases.length > 0 ? (rowsOfEach.at(-1) ?? []) : []);
    const paused = new Set([
      ...outcomes.filter(({ pauseReason }) => pauseReason !== '').map(({ lane }) => laneText(lane)),
      ...[...locked].filter(([, { isPaused }]) => isPaused).map(([text]) => text),
    ]);
    return writes.map((write) => {
      if (!isHeld(write)) {
        const { attempt, isRepeat } = write;
        const isWritten = isRepeat === true && written.has(attempt?.delivery.id ?? '');
        return { isHeld: false, isWritten };
      }
      const text = laneText(write.lane);
      return {
        isHeld: true,
        isPaused: paused.has(text),
        isDue: due.has(text),
        areHeadsHidden: hidden.has(text),
      };
    });
  });
}

/** The combined result of a lane's attempts, in the order in which they ended; empty without attempts. */
function outcomeOf(
  { lane, health }: LockedLane,
  ended: readonly EndedAttempt[],
  random: () => number,
): LaneOutcome[] {
  const attempts = ended.toSorted((a, b) => a.endedAt.getTime() - b.endedAt.getTime());
  const last = attempts.at(-1);
  if (last === undefined) return [];
  const isDelivered = ({ next }: EndedAttempt): boolean => next.type === 'delivered';
  const lastSuccess = attempts.findLastIndex(isDelivered);
  const gone = attempts.find(({ next }) => next.type === 'pause');
  return [
    {
      lane,
      health: attempts.reduce(
        (before, attempt) =>
          healthAfter(before, { isDelivered: isDelivered(attempt), endedAt: attempt.endedAt, random }),
        health,
      ),
      lastSuccessAt: attempts[lastSuccess]?.endedAt ?? null,
      lastFailureAt: attempts.findLast((attempt) => !isDelivered(attempt))?.endedAt ?? null,
      failingSince: attempts[lastSuccess + 1]?.endedAt ?? null,
      lastResult: shortResult(last.report),
      lastAttemptResult: last.report.result,
      pauseReason: gone === undefined ? '' : `answered 410 Gone to ${gone.delivery.id}`,
    },
  ];
}
