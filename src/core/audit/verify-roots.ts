import type { PoolClient } from 'pg';
import { readRoots } from './close-days.ts';
import { growRoot } from './day-root.ts';
import type { ChainHead, GrowingRoot, RootSigner } from './day-root.ts';
import { isSame } from './event-commitment.ts';
import type { Finding, LostTime, VerifySummary } from './audit-finding.ts';

/** A root that the verifier has kept outside of the gateway. Chains by stored merchant id. */
export interface KeptRoot {
  readonly day: string;
  readonly previousRoot: Uint8Array;
  readonly root: Uint8Array;
  readonly chains: ReadonlyMap<string, { readonly number: bigint; readonly hash: Uint8Array }>;
}

/** Compares the chains with stored and kept roots. Merchants are added in the order of a root. */
export interface RootCheck {
  /** Adds the next block of the current merchant. */
  readonly addBlock: (head: ChainHead, sealedAt: Date) => void;
  readonly endChain: (merchantId: string) => Iterable<Finding>;
  readonly finish: (summary: VerifySummary) => Iterable<Finding>;
}

export interface RootCheckParts {
  readonly client: PoolClient;
  readonly signer: RootSigner;
  readonly keptRoots: readonly KeptRoot[];
  readonly lost: readonly LostTime[];
  /** Defined when only one merchant is compared, so that the roots of all cannot be. */
  readonly merchantId: string | undefined;
}

interface ComparedDay {
  readonly day: string;
  readonly end: Date;
  readonly kept: KeptRoot | undefined;
  readonly expected: Uint8Array;
  readonly growing: GrowingRoot;
  /** The merchants of the kept root that were not seen yet. */
  readonly unseen: Set<string>;
  differs: boolean;
}

const dayMs = 86_400_000;
const startOf = (day: string): Date => new Date(`${day}T00:00:00Z`);
const endOf = (day: string): Date => new Date(startOf(day).getTime() + dayMs);

export async function createRootCheck(parts: RootCheckParts): Promise<RootCheck> {
  const { client, signer, keptRoots, lost, merchantId: only } = parts;
  const stored = only === undefined ? await readRoots(client) : [];
  const days: ComparedDay[] = [
    ...stored.map((root) => ({ ...root, kept: undefined })),
    ...keptRoots.map((kept) => ({ ...kept, kept })),
  ]
    .map(({ day, previousRoot, root, kept }) => ({
      day,
      end: endOf(day),
      kept,
      expected: root,
      growing: growRoot(day, previousRoot),
      unseen: new Set(kept?.chains.keys()),
      differs: false,
    }))
    .sort((a, b) => a.end.getTime() - b.end.getTime());
  const explains = (day: string): boolean =>
    lost.some(({ from, until }) => from < endOf(day) && until >= startOf(day));
  const differing = ({ day, kept }: ComparedDay, merchantId?: string): Finding => ({
    kind: 'ROOT_DIFFERS',
    day,
    isKeptRoot: kept !== undefined,
    isExplained: explains(day),
    ...(merchantId === undefined ? {} : { merchantId }),
  });

  let newest: ChainHead | undefined;
  let nextDay = 0;
  const found: Finding[] = [];
  /** The current merchant has `newest` at the end of the day. */
  const endDay = (day: ComparedDay, merchantId: string): void => {
    if (newest !== undefined) day.growing.add(newest);
    const kept = day.kept?.chains.get(merchantId);
    day.unseen.delete(merchantId);
    if (day.kept === undefined || day.kept.chains.size === 0) return;
    const isEqual = kept?.number === newest?.number && isSame(kept?.hash ?? noBytes, newest?.hash ?? noBytes);
    if (isEqual) return;
    day.differs = true;
    found.push(differing(day, merchantId));
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
      for (const day of days) {
        for (const merchantId of only === undefined ? day.unseen : []) {
          day.differs = true;
          yield differing(day, merchantId);
        }
        if (only === undefined && !day.differs && !isSame(day.growing.finish(), day.expected))
          yield differing(day);
      }
      let before: { readonly day: string; readonly root: Uint8Array } | undefined;
      for (const { day, previousRoot, root, signature } of stored) {
        if (!signer.isSigned(day, root, signature)) yield { kind: 'ROOT_FORGED', day };
        if (
          before !== undefined &&
          (endOf(before.day).getTime() !== startOf(day).getTime() || !isSame(before.root, previousRoot))
        )
          yield { kind: 'ROOT_DELETED', day };
        before = { day, root };
      }
    },
  };
}

const noBytes = new Uint8Array();
