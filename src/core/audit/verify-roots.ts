import type { PoolClient } from 'pg';
import type { StoredId } from '../../contract/public-id.ts';
import { readRoots } from './close-days.ts';
import type { DayRoot } from './close-days.ts';
import { growRoot } from './day-root.ts';
import type { ChainHead, GrowingRoot, RootSigner } from './day-root.ts';
import { isSame } from './event-commitment.ts';
import type { Finding, LostTime, VerifySummary } from './audit-finding.ts';

/** A root that the verifier has kept outside of the gateway, with the newest block of each merchant. */
export interface KeptRoot {
  readonly day: string;
  readonly previousRoot: Uint8Array;
  readonly root: Uint8Array;
  readonly chains: ReadonlyMap<StoredId<'mer'>, { readonly number: bigint; readonly hash: Uint8Array }>;
}

/** Compares the chains with stored and kept roots. Merchants are added in the order of a root. */
export interface RootCheck {
  /** Adds the next block of the current merchant. */
  readonly addBlock: (head: ChainHead, sealedAt: Date) => void;
  readonly endChain: (merchantId: StoredId<'mer'>) => Iterable<Finding>;
  readonly finish: (summary: VerifySummary) => Iterable<Finding>;
}

export interface RootCheckParts {
  readonly client: PoolClient;
  readonly signer: RootSigner;
  readonly keptRoots: readonly KeptRoot[];
  readonly lost: readonly LostTime[];
  /** Defined when only one merchant is compared. Stored roots cover all merchants, so they are not compared then. */
  readonly merchantId: StoredId<'mer'> | undefined;
}

export async function createRootCheck(parts: RootCheckParts): Promise<RootCheck> {
  const { client, signer, keptRoots, lost, merchantId: only } = parts;
  const stored = only === undefined ? await readRoots(client) : [];
  const days = [
    ...stored.map((root) => comparedDay(root, undefined)),
    ...keptRoots.map((root) => comparedDay(root, root)),
  ].sort((a, b) => a.end.getTime() - b.end.getTime());

  let newest: ChainHead | undefined;
  let nextDay = 0;
  const found: Finding[] = [];
  /** The current merchant has `newest` at the end of the day. */
  const endDay = (day: ComparedDay, merchantId: StoredId<'mer'>): void => {
    if (newest !== undefined) day.growing.add(newest);
    day.unseen.delete(merchantId);
    if (day.kept === undefined || isHeadKept(day.kept, merchantId, newest)) return;
    day.differs = true;
    found.push(differingRoot(day, lost, merchantId));
  };
  return {
    addBlock(head, sealedAt) {
      for (let day = days[nextDay]; day !== undefined && sealedAt >= day.end; day = days[nextDay]) {
        endDay(day, head.merchantId);
        nextDay += 1;
      }
      newest = head;
    },
    *endChain(merchantId) {
      for (const day of days.slice(nextDay)) endDay(day, merchantId);
      newest = undefined;
      nextDay = 0;
      yield* found.splice(0);
    },
    *finish(summary) {
      summary.roots = days.length;
      if (only !== undefined) return;
      for (const day of days) yield* finishDay(day, lost);
      yield* faultsOfStored(stored, signer);
    },
  };
}

/** A stored or kept root, and the root that the chains give for its day. */
interface ComparedDay {
  readonly day: string;
  readonly end: Date;
  readonly kept: KeptRoot | undefined;
  readonly expected: Uint8Array;
  readonly growing: GrowingRoot;
  /** The merchants of the kept root that were not seen yet. */
  readonly unseen: Set<StoredId<'mer'>>;
  /** Whether a merchant differs, so that the root says nothing more. */
  differs: boolean;
}

const comparedDay = (
  { day, previousRoot, root }: Pick<KeptRoot, 'day' | 'previousRoot' | 'root'>,
  kept: KeptRoot | undefined,
): ComparedDay => ({
  day,
  end: endOf(day),
  kept,
  expected: root,
  growing: growRoot(day, previousRoot),
  unseen: new Set(kept?.chains.keys()),
  differs: false,
});

/** Whether the merchant has the newest block that the kept root names. A root without chains names none. */
function isHeadKept(
  { chains }: KeptRoot,
  merchantId: StoredId<'mer'>,
  newest: ChainHead | undefined,
): boolean {
  if (chains.size === 0) return true;
  const keptHead = chains.get(merchantId);
  return keptHead?.number === newest?.number && isSame(keptHead?.hash ?? noBytes, newest?.hash ?? noBytes);
}

/** The differences of a day after all merchants were added: merchants without chains, and the root itself. */
function* finishDay(day: ComparedDay, lost: readonly LostTime[]): Generator<Finding> {
  for (const merchantId of day.unseen) yield differingRoot(day, lost, merchantId);
  if (day.differs || day.unseen.size > 0) return;
  if (!isSame(day.growing.finish(), day.expected)) yield differingRoot(day, lost);
}

function differingRoot(
  { day, kept }: ComparedDay,
  lost: readonly LostTime[],
  merchantId?: StoredId<'mer'>,
): Finding {
  const isExplained = lost.some(({ from, until }) => from < endOf(day) && until >= startOf(day));
  const of = merchantId === undefined ? {} : { merchantId };
  return { kind: 'ROOT_DIFFERS', day, isKeptRoot: kept !== undefined, isExplained, ...of };
}

/** Stored roots that the gateway has not signed, and days without a root before them. */
function* faultsOfStored(stored: readonly DayRoot[], signer: RootSigner): Generator<Finding> {
  for (const [index, { day, previousRoot, root, signature }] of stored.entries()) {
    if (!signer.isSigned(day, root, signature)) yield { kind: 'ROOT_FORGED', day };
    const before = stored[index - 1];
    if (before === undefined) continue;
    const isNextDay = endOf(before.day).getTime() === startOf(day).getTime();
    if (!isNextDay || !isSame(before.root, previousRoot)) yield { kind: 'ROOT_DELETED', day };
  }
}

const dayMs = 86_400_000;
const startOf = (day: string): Date => new Date(`${day}T00:00:00Z`);
const endOf = (day: string): Date => new Date(startOf(day).getTime() + dayMs);
const noBytes = new Uint8Array();
