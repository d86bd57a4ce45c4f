import type { Database } from '../database/database.ts';
import { RecoveryRow, RecoveryWalletRow } from '../database/recovery-entities.ts';
import { causeOfRecovery, closedEnvironments, streamAfter } from '../domain/recovery.ts';
import type { RestoreEvidence } from '../domain/recovery.ts';
import type { Environment } from '../domain/order.ts';
import type { Wallet } from '../domain/wallet.ts';
import { publicId } from '../../contract/public-id.ts';
import { createAccountTimeline } from '../payments/changes/account-timeline.ts';
import { rebuildOrders } from '../payments/changes/rebuild-orders.ts';
import type { EventBus } from '../../contract/event-bus.ts';
import type { Logger } from '../../platform/logger.ts';
import { withAdvisoryLock } from '../../platform/database/advisory-lock.ts';
import type { StoredStream } from '../../platform/nats/stored-events.ts';
import { beginRecovery } from './begin-recovery.ts';
import { checkWallets } from './check-wallets.ts';
import type { StartReconciliation } from './check-wallets.ts';
import { readDatabaseIdentity, recordDatabaseUse } from './database-identity.sql.ts';
import type { DatabaseIdentity } from './database-identity.sql.ts';
import { addHolds, endHolds, findHolds, readHolds, holdsWithout } from './holds.sql.ts';
import { keepLostAccounts, keepPaidAccounts, readMissingAccounts } from './lost-accounts.sql.ts';
import { keepLostMerchants, readMissingMerchants } from './lost-merchants.sql.ts';
import { createNewestEventCheck } from './newest-event.ts';
import { followStream, StreamUnreadableError } from './read-stream.ts';
import type { StreamPart } from './read-stream.ts';
import { readResolvedConflicts } from './resolved-conflicts.sql.ts';

export interface RecoveryParts {
  readonly database: Database;
  readonly bus: Pick<EventBus, 'storedStream'>;
  readonly wallets: readonly Wallet[];
  /** Whether this core has created the row with the database's lineage. */
  readonly isNewDatabase: boolean;
  /** Whether the database was used with this core's master key. */
  readonly hasMasterKey: () => Promise<boolean>;
  readonly startReconciliation: StartReconciliation;
  /** Gives lost payments to the PENDING orders that they belong to. */
  readonly claimAll: (environment: Environment) => Promise<number>;
  readonly newUuid: () => string;
  /** Called in each step of a recovery, before events are read from the stream. By then the database says that no payments are taken. */
  readonly onRecovering: () => Promise<void>;
  /** Called when a step made orders or attempts due. */
  readonly onChange: () => void;
  readonly logger: Logger;
  /** How long a prompt of the lost time may still be confirmed. Statements are read after it. */
  readonly settleMs: number;
  /** How long the broker may be unavailable, or its stream not be read to the end, before the stream counts as lost. */
  readonly streamWaitMs: number;
  /** The time before a part of the stream that could not be read is read again. */
  readonly streamPauseMs: number;
}

/**
 * One core at a time carries out the recovery. The others only check whether the environment takes payments. A step that reads a long stream
 * takes minutes, and uses other connections.
 */
const recoveryLock = { key: 7_142_006, silenceMs: 120_000, keepAliveMs: 5_000 };
/** How long before the backup the reading of the stream begins, because its order differs a little from that of the commits. */
const streamMarginMs = 10 * 60_000;

/** After the stream was read, this many steps read only the database. */
const stepsBetweenStreams = 30;
const progressEveryMs = 10_000;
/** The largest age of the record of core's latest use. A recovery counts all changes after that use as lost. */
const recordEveryMs = 5_000;

export interface RecoverySteps {
  /**
   * Checks whether the database was restored, and carries out the next step of a recovery. Several cores may call it. Without a restore
   * most steps cost one query.
   */
  readonly step: () => Promise<void>;
  /**
   * Whether the database has the newest event of the stream. If it does not, the database was restored, and the next step reads the stream.
   * @throws when the broker does not answer
   */
  readonly continuesStream: () => Promise<boolean>;
}

export function createRecoverySteps(parts: RecoveryParts): RecoverySteps {
  const { database, bus, logger } = parts;
  const hasNewestEvent = createNewestEventCheck(database.pool, parts.isNewDatabase);
  const unread: UnreadStream = { recoveryId: '', since: new Date(0) };
  let untilStream = 0;
  let wasForeign = false;
  // A copy may have replaced the database. The recorded last use stays unchanged until the stream was compared, because the lost time begins at
  // that use.
  let isCompared = false;
  let newestUse = new Date(0);
  /** Undefined when the broker does not answer. */
  const ask = async <Answer>(question: () => Promise<Answer>): Promise<Answer | undefined> => {
    try {
      return await question();
    } catch (error) {
      untilStream = stepsBetweenStreams;
      logger.warn(
        { err: error },
        'the stream of events could not be read, so a restore may be noticed late; core tries again in a minute',
      );
      return undefined;
    }
  };
  const compare = async (
    identity: DatabaseIdentity,
    stream: StoredStream | undefined,
  ): Promise<RestoreEvidence> => {
    const locations = { recordedLocation: identity.recordedLocation, location: identity.location };
    if (stream === undefined || identity.location !== identity.recordedLocation)
      return { ...locations, hasNewestEvent: undefined };
    const hasNewest = await ask(() => hasNewestEvent(stream, identity.lineage));
    isCompared = hasNewest === true;
    return { ...locations, hasNewestEvent: hasNewest };
  };
  const underLock = async (_client: unknown, lockLost: AbortSignal): Promise<void> => {
    const identity = await readDatabaseIdentity(database.pool);
    const stream = await ask(() => bus.storedStream());
    if (stream !== undefined) untilStream = stepsBetweenStreams;
    lockLost.throwIfAborted();
    const { isRecovering, hasReadStream, location, recordedLocation } = identity;
    // A recovery that has read the stream is compared with it too. Otherwise it could open an environment that has lost orders again.
    const isComparable = !isRecovering || hasReadStream || location !== recordedLocation;
    const isRestored =
      isComparable && (await beginIfRestored(parts, identity, await compare(identity, stream)));
    if (!isRestored && !isRecovering) return;
    await parts.onRecovering();
    await continueRecovery({ ...parts, unread }, identity.lineage, stream, lockLost);
  };
  return {
    async step() {
      const { location, recordedLocation, isRecovering, seenAt, now } = await readDatabaseIdentity(
        database.pool,
      );
      untilStream -= 1;
      // An earlier last use than before shows that a copy has replaced the database.
      if (seenAt < newestUse) {
        isCompared = false;
        untilStream = -1;
      }
      newestUse = seenAt;
      // References of lost payments are derived from the key, so with another one they would not be found.
      const isForeign = (location !== recordedLocation || isRecovering) && !(await parts.hasMasterKey());
      if (isForeign && !wasForeign)
        logger.error(
          'the database was replaced by one that was used with another master key, so payments wait; set GATEHOUSE_MASTER_KEY to the key of that database, and restart core',
        );
      wasForeign = isForeign;
      if (isForeign) return;
      if (location !== recordedLocation || isRecovering || untilStream < 0)
        await withAdvisoryLock(database.pool, recoveryLock, underLock);
      // A time in the future comes from a wrong clock, and is corrected at once.
      else if (seenAt > now || (isCompared && now.getTime() - seenAt.getTime() > recordEveryMs)) {
        await recordDatabaseUse(database.pool);
        newestUse = now;
      }
    },
    async continuesStream() {
      const stream = await bus.storedStream();
      if (stream === undefined) throw new Error('not connected to the broker');
      const { lineage } = await readDatabaseIdentity(database.pool);
      const continues = await hasNewestEvent(stream, lineage);
      if (!continues) untilStream = 0;
      return continues;
    },
  };
}

/** Begins a recovery if the evidence shows that the database was restored. */
async function beginIfRestored(
  { database, wallets, newUuid, logger }: RecoveryParts,
  identity: DatabaseIdentity,
  evidence: RestoreEvidence,
): Promise<boolean> {
  const cause = causeOfRecovery(evidence);
  if (cause === undefined) return false;
  // If the clock was ahead at the backup, the lost time is empty. Core then reads the statements of the day of the restore.
  const lostFrom = identity.seenAt < identity.now ? identity.seenAt : identity.now;
  const recovery = { id: newUuid(), cause, lostFrom, lostUntil: identity.now };
  await database.fork().transactional((em) => beginRecovery(em, wallets, recovery));
  logger.error(
    { recovery: recovery.id, cause, lost_from: recovery.lostFrom, lost_until: recovery.lostUntil },
    'the database was restored; the gateway takes no payments until it has compared its records with the wallets; run gatehouse restore status',
  );
  return true;
}

/** Since when this process cannot read the stream of a recovery, by the database's clock. */
interface UnreadStream {
  recoveryId: string;
  since: Date;
}

interface StepParts extends RecoveryParts {
  readonly unread: UnreadStream;
}

async function continueRecovery(
  parts: StepParts,
  lineage: string,
  stream: StoredStream | undefined,
  lockLost: AbortSignal,
): Promise<void> {
  const { database, settleMs, startReconciliation, onChange, logger } = parts;
  const em = database.fork();
  const recovery = await em.findOne(RecoveryRow, { finishedAt: null });
  if (recovery === null) return;
  if (recovery.stream === 'WAITING') await recoverFromStream(parts, recovery, lineage, stream, lockLost);
  const now = await databaseNow(parts);
  const settledAt = new Date(recovery.lostUntil.getTime() + settleMs);
  if (recovery.stream !== 'WAITING' && now >= settledAt)
    await checkWallets(em, recovery, settledAt, startReconciliation);
  const wallets = await em.find(RecoveryWalletRow, { recoveryId: recovery.id });
  const openConflicts = recovery.conflictsAcceptedBy === '' ? recovery.conflictingOrders : 0;
  const closed = closedEnvironments({ stream: recovery.stream, openConflicts, wallets });
  const opened = recovery.closed.filter((environment) => !closed.includes(environment));
  const holds = await findHolds(em, recovery);
  const heldBefore = await readHolds(em, recovery.id);
  await addHolds(em, recovery.id, holdsWithout(holds, heldBefore));
  const released = holdsWithout(heldBefore, holds);
  const changed = [...new Set([...opened, ...released.map(({ environment }) => environment)])];
  // This comes before new payments, because an order that was paid in the lost time must get that payment.
  for (const environment of changed.filter((each) => !closed.includes(each)))
    await parts.claimAll(environment);
  await endHolds(em, recovery.id, released);
  recovery.closed = [...closed];
  const isFinished = closed.length === 0 && holds.length === 0;
  if (isFinished) recovery.finishedAt = now;
  await em.flush();
  if (changed.length === 0 && !isFinished) return;
  logger.info(
    {
      recovery: recovery.id,
      opened,
      closed,
      held_merchants: holds.map(({ merchantId }) => publicId('mer', merchantId)),
    },
    'the recovery made progress: the environments in opened take payments again, as do merchants that are no longer in held_merchants',
  );
  onChange();
}

/** Rebuilds the lost orders from the stream, and records whether the stream was complete. */
async function recoverFromStream(
  parts: StepParts,
  recovery: RecoveryRow,
  lineage: string,
  stream: StoredStream | undefined,
  lockLost: AbortSignal,
): Promise<void> {
  if (stream === undefined) {
    await waitForStream(parts, recovery);
    return;
  }
  const rebuilt = await rebuildFromStream(parts, recovery, lineage, stream, lockLost).catch(
    async (error: unknown) => {
      if (!(error instanceof StreamUnreadableError)) throw error;
      await waitForStream(parts, recovery);
      if (recovery.stream === 'WAITING') throw error;
      return undefined;
    },
  );
  await recordMissing(parts, recovery);
  if (rebuilt === undefined) return;
  const { conflicts, read } = rebuilt;
  recovery.stream = streamAfter(read);
  recovery.streamUntil = read.until ?? null;
  const { rebuiltOrders, rebuiltEvents } = await parts.database
    .fork()
    .findOneOrFail(RecoveryRow, { id: recovery.id });
  // Conflicts of a recovery that this one has replaced still wait for the operator.
  recovery.conflictingOrders = Math.max(recovery.conflictingOrders, conflicts);
  parts.logger.info(
    {
      recovery: recovery.id,
      stream: recovery.stream,
      rebuilt_orders: rebuiltOrders,
      rebuilt_events: rebuiltEvents,
      conflicts,
    },
    'orders of the lost time were rebuilt from the stream of events',
  );
  parts.onChange();
}

/** Counts the stream as lost if it could not be read to its end for `streamWaitMs`. */
async function waitForStream(parts: StepParts, recovery: RecoveryRow): Promise<void> {
  const { unread, streamWaitMs } = parts;
  const now = await databaseNow(parts);
  if (unread.recoveryId !== recovery.id) Object.assign(unread, { recoveryId: recovery.id, since: now });
  if (now.getTime() - unread.since.getTime() <= streamWaitMs) return;
  recovery.stream = 'LOST';
  parts.logger.warn(
    { recovery: recovery.id },
    'the broker stayed unavailable or its stream could not be read to the end, so the stream counts as lost; core rebuilds no more orders and reads the statements of the wallets next',
  );
}

async function rebuildFromStream(
  { database, logger, streamPauseMs }: RecoveryParts,
  recovery: RecoveryRow,
  lineage: string,
  stream: StoredStream,
  lockLost: AbortSignal,
) {
  const orders = new Set<string>();
  const conflicts = new Set<string>();
  const logProgress = createProgressLog(logger, recovery.id);
  const accounts = createAccountTimeline();
  const lostTime = {
    lineage,
    since: new Date(recovery.lostFrom.getTime() - streamMarginMs),
    lostFrom: recovery.lostFrom,
    noticedAt: await firstNoticedAt(database, recovery),
    pauseMs: streamPauseMs,
  };
  const report = ({ until }: StreamPart, more: number): void =>
    logProgress({
      rebuilt_orders: recovery.rebuiltOrders + orders.size + more,
      until,
      lost_until: recovery.lostUntil,
    });
  const isResolved = await readResolvedConflicts(database.pool);
  const read = await followStream(database.pool, stream, lostTime, async (part) => {
    lockLost.throwIfAborted();
    accounts.add(part.accountChanges);
    await keepLostAccounts(database.fork(), recovery.id, part.accountChanges);
    const unresolved = part.events.filter((event) => !isResolved(event));
    const rebuilt = await rebuildOrders(database, unresolved, {
      accounts,
      noticedAt: lostTime.noticedAt,
      recovery,
      signal: lockLost,
      onCommit: (some) => report(part, some.orders.length),
    });
    rebuilt.orders.forEach((id) => orders.add(id));
    report(part, 0);
    for (const { orderId, why } of rebuilt.conflicts) {
      if (conflicts.has(orderId)) continue;
      conflicts.add(orderId);
      logger.error(
        { order_id: orderId, why },
        'an order of the lost time could not be rebuilt. List such orders: gatehouse restore report --conflicts. Resolve them with the merchants, then run gatehouse restore accept --conflicts --reason <text>',
      );
    }
  });
  return { conflicts: conflicts.size, read };
}

/** Logs how far the rebuilding is, if it takes longer than `progressEveryMs`. */
function createProgressLog(
  logger: Logger,
  recovery: string,
): (facts: Readonly<Record<string, unknown>>) => void {
  let loggedAtMs = performance.now();
  return (facts) => {
    if (performance.now() - loggedAtMs < progressEveryMs) return;
    loggedAtMs = performance.now();
    logger.info({ recovery, ...facts }, 'rebuilding orders of the lost time from the stream of events');
  };
}

/** When core first noticed that events of this recovery were lost. An earlier restore may have lost some of them already. */
async function firstNoticedAt(database: Database, { lostFrom, lostUntil }: RecoveryRow): Promise<Date> {
  const [first] = await database
    .fork()
    .find(RecoveryRow, { lostUntil: { $gt: lostFrom } }, { orderBy: { lostUntil: 'asc' }, limit: 1 });
  return first?.lostUntil ?? lostUntil;
}

/** Records the merchants and accounts of the lost time that the database lacks, and tells the operator how to add them. */
async function recordMissing({ database, logger }: RecoveryParts, recovery: RecoveryRow): Promise<void> {
  await keepPaidAccounts(database.fork(), recovery.id);
  await keepLostMerchants(database.fork(), recovery.id);
  for (const { merchantId, orders } of await readMissingMerchants(database.fork(), recovery.id))
    logger.error(
      { merchant_id: publicId('mer', merchantId), orders },
      'the database lacks a merchant of the lost time; to see how to create it again under its id, run gatehouse restore status',
    );
  for (const account of await readMissingAccounts(database.fork(), recovery.id))
    logger.error(
      {
        merchant_id: publicId('mer', account.merchantId),
        environment: account.environment,
        wallet: account.wallet,
        wallet_account_id: publicId('wac', account.walletAccountId),
        payee: account.payee ?? 'unknown',
      },
      "payments of the lost time used a merchant's own account, which the database lacks; to see how to enter its credentials again, run gatehouse restore status",
    );
}

const databaseNow = async ({ database }: RecoveryParts): Promise<Date> =>
  (await readDatabaseIdentity(database.pool)).now;
