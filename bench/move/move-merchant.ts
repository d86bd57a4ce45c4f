import { setTimeout as delay } from 'node:timers/promises';
import { obstaclesOf, passCopies } from './check-move.ts';
import { copyRound, moveWork } from './copy-rows.ts';
import type { Databases, Round } from './copy-rows.ts';
import { addOwner, createMoveTables, installGuards, readOwner, setOwnerState } from './fence.sql.ts';
import type { Owner } from './fence.sql.ts';
import { holdLanes, resumeLanes } from './hold-lanes.ts';
import { moveCounts } from './move-counts.ts';
import { movedTables, tablesWithWork } from './moved-tables.ts';
import { sealCopies } from './seal-copies.ts';

/** The steps of a move, in this order. The mover can end after each step, and begin again. */
export const steps = [
  'prepared',
  'copied',
  'compared',
  'leaving',
  'drained',
  'closed',
  'finished',
  'gone',
  'here',
  'settled',
] as const;
export type Step = (typeof steps)[number];

export interface Move {
  readonly databases: Databases;
  /** In the stored form. */
  readonly merchantId: string;
  readonly sealKey: Buffer;
  /** Resolves when no request of the merchant runs, and later ones wait. */
  readonly hold: () => Promise<void>;
  /** Lets the waiting requests go on, to one of the databases. */
  readonly release: (to: 'source' | 'target') => void;
  readonly reached: (step: Step, detail: string) => void;
}

/** A round that takes less is short enough for the time in which requests wait. On a busy machine a longer one must do. */
const shortRoundMs = { atFirst: 100, afterTenRounds: 500 };
const maxRounds = 50;
/** The work that is parked when the merchant leaves. A lease that is held ends first. Only orders that could expire soon are parked. */
const leaving: Readonly<Record<string, string>> = {
  'core.orders': `sweep_at < now() + interval '30 seconds'`,
  'core.wallet_accounts': 'true',
};
const notLeased = 'leased_until is null';
/** A lease is shorter. */
const drainMs = 60_000;
/**
 * Requests wait for two seconds at most, so the move gives up before. It does so when the earlier requests are not answered, or when all
 * takes too long.
 */
const heldMs = 600;
const closedMs = 1_200;
const maxTries = 5;

/** Moves a merchant, or continues an interrupted move. @throws with the reason when it cannot move now */
export async function moveMerchant(move: Move): Promise<void> {
  const { source, target } = move.databases;
  await prepare(move);
  const before = await ownerIn(source, move);
  if (before.state !== 'GONE') await leaveSource(move, before);
  const arriving = await ownerIn(target, move);
  if (arriving.state !== 'HERE') {
    if (before.state === 'GONE') await move.hold();
    await arrive(move);
  }
  move.release('target');
  move.reached('here', '');
  await settle(move);
}

async function prepare({ databases, merchantId, reached }: Move): Promise<void> {
  const { source, target } = databases;
  await createMoveTables(source);
  await createMoveTables(target);
  const here = await readOwner(source, merchantId);
  const there = await readOwner(target, merchantId);
  // A mover with the databases swapped would replace the owner's rows by former ones.
  const isOwnedThere = there !== undefined && !['ARRIVING', 'GONE'].includes(there.state);
  if (here?.state === 'ARRIVING' || (isOwnedThere && here?.state !== 'GONE'))
    throw new Error('the target owns the merchant');
  if (here === undefined) {
    const obstacles = await obstaclesOf(databases, merchantId);
    if (obstacles.length > 0) throw new Error(`the merchant cannot move: ${obstacles.join('; ')}`);
  }
  await passCopies(target);
  await addOwner(source, merchantId, 'HERE');
  await installGuards(source, merchantId);
  await addOwner(target, merchantId, 'ARRIVING');
  reached('prepared', '');
}

async function ownerIn(client: Databases['source'], { merchantId }: Move): Promise<Owner> {
  const owner = await readOwner(client, merchantId);
  if (owner === undefined) throw new Error('the row of the move is missing');
  return owner;
}

async function leaveSource(move: Move, before: Owner): Promise<void> {
  const { reached } = move;
  // An interrupted move may have left it closed.
  if (before.state !== 'HERE') await reopen(move);
  const first = await copyNext(move, 'nothing');
  // Without statistics, the target would look for an order among all orders of the merchant.
  for (const { name } of movedTables) await move.databases.target.query(`analyze ${name}`);
  reached('copied', `${first.rows} rows in ${first.tookMs.toFixed(0)} ms`);
  const rounds = await catchUp(move);
  const compared = await copyNext(move, 'all rows');
  requireEqual(compared);
  reached('compared', `after ${rounds} rounds, all rows in ${compared.tookMs.toFixed(0)} ms`);

  for (let tries = 1; ; tries += 1) {
    try {
      await stopWork(move);
    } catch (error) {
      // A move that gives up leaves no work parked.
      await reopen(move);
      throw error;
    }
    if (await close(move)) return;
    if (tries < maxTries) continue;
    await reopen(move);
    throw new Error('the last changes could not be copied in time');
  }
}

/** Lets no process begin new work of the merchant, and waits for the work that has begun. */
async function stopWork(move: Move): Promise<void> {
  const { databases, merchantId, reached } = move;
  const { source } = databases;
  await setOwnerState(source, merchantId, 'LEAVING');
  for (const table of tablesWithWork)
    await moveWork(source, table, merchantId, 'parked', leaving[table.name] ?? notLeased);
  reached('leaving', '');
  const drainedMs = await drain(move);
  await catchUp(move);
  reached('drained', `leases ended in ${drainedMs.toFixed(0)} ms`);
}

/** Copies the changes since the last round. */
async function copyNext(move: Move, compared: Parameters<typeof copyRound>[3]): Promise<Round> {
  const { databases, merchantId, sealKey } = move;
  const { target } = databases;
  const { copiedUntil } = await ownerIn(target, move);
  const round = await copyRound(databases, merchantId, copiedUntil, compared);
  await target.query('update move.owners set copied_until = $2::pg_snapshot where merchant_id = $1', [
    merchantId,
    round.snapshot,
  ]);
  await sealCopies(target, merchantId, sealKey);
  return round;
}

/** Returns the number of rounds. */
async function catchUp(move: Move): Promise<number> {
  for (let rounds = 1; rounds < maxRounds; rounds += 1) {
    const { tookMs } = await copyNext(move, 'nothing');
    if (tookMs < shortRoundMs[rounds <= 10 ? 'atFirst' : 'afterTenRounds']) return rounds;
  }
  throw new Error(`the copy does not catch up in ${maxRounds} rounds`);
}

function requireEqual({ differing }: Round): void {
  if (differing.length > 0) throw new Error(`the databases differ: ${differing.join('; ')}`);
}

/**
 * Waits until `wallets` works on no payment, refund or reversal of the merchant. A closed source would refuse the report of a wallet's answer, and
 * some wallets cannot be asked again without it. Returns the time that it took.
 */
async function drain(move: Move): Promise<number> {
  const begunMs = performance.now();
  const held = ['payment_attempts', 'refunds', 'stray_payments'].map(
    (table) => `exists (select from core.${table} where merchant_id = $1 and leased_until > now())`,
  );
  for (;;) {
    const { rows } = await move.databases.source.query<{ works: boolean }>(
      `select ${held.join(' or ')} as works`,
      [move.merchantId],
    );
    const tookMs = performance.now() - begunMs;
    if (rows[0]?.works !== true) return tookMs;
    if (tookMs > drainMs) throw new Error('a lease of the merchant does not end');
    await delay(10);
  }
}

/** Closes the source, and gives the merchant away. Opens the source again, and returns false, if that takes too long. */
async function close(move: Move): Promise<boolean> {
  const { databases, merchantId, reached } = move;
  const begunMs = performance.now();
  const tookMs = (): number => performance.now() - begunMs;
  const inWords = (): string => `${tookMs().toFixed(0)} ms after requests began to wait`;
  const isHeld = await Promise.race([move.hold().then(() => true), delay(heldMs, false)]);
  if (!isHeld) {
    move.release('source');
    return false;
  }
  try {
    await setOwnerState(databases.source, merchantId, 'CLOSED');
    reached('closed', inWords());
    const last = await copyNext(move, 'copied rows');
    requireEqual(last);
    await holdLanes(databases, merchantId);
    reached('finished', `${inWords()}, ${last.rows} rows`);
    if (tookMs() > closedMs) throw new TooLate();
  } catch (error) {
    await reopen(move);
    move.release('source');
    if (error instanceof TooLate) return false;
    throw error;
  }
  // This commit decides. Before it, the source can be opened again. After it, the move can only go on.
  await setOwnerState(databases.source, merchantId, 'GONE');
  reached('gone', inWords());
  return true;
}

class TooLate extends Error {}

async function reopen({ databases, merchantId }: Move): Promise<void> {
  await setOwnerState(databases.source, merchantId, 'HERE');
  for (const table of tablesWithWork) await moveWork(databases.source, table, merchantId, 'released');
}

/** Releases the payments and refunds in the target, and makes it the owner. */
async function arrive({ databases: { target }, merchantId }: Move): Promise<void> {
  for (const table of tablesWithWork)
    if (table.name !== 'core.orders') await moveWork(target, table, merchantId, 'released');
  await setOwnerState(target, merchantId, 'HERE');
}

/** Ends what the source has begun, and what needs no haste. */
async function settle(move: Move): Promise<void> {
  const { databases, merchantId, reached } = move;
  const { source, target } = databases;
  for (const table of tablesWithWork) {
    await moveWork(source, table, merchantId, 'parked');
    await moveWork(target, table, merchantId, 'released');
  }
  await resumeLanes(databases, merchantId);
  await moveCounts(databases, merchantId);
  reached('settled', '');
}
