/** The targets of a campaign: the processes of Gatehouse, the simulated wallets, and the servers behind them. */
export const targets = [
  'rest-facade',
  'core',
  'wallets',
  'webhooks',
  'checkout',
  'dashboard',
  'wallet-simulator',
  'database',
  'broker',
] as const;
export type Target = (typeof targets)[number];

/** The kinds of faults. `disk` fills the disk with the database, with the broker's store, or with the log. */
const faultKinds = ['kill', 'stop', 'freeze', 'network', 'disk'] as const;
export type FaultKind = (typeof faultKinds)[number];

/** One attack of a campaign. */
export interface Fault {
  readonly target: Target;
  readonly kind: FaultKind;
}

export const allFaults: readonly Fault[] = targets.flatMap((target) =>
  faultKinds.map((kind) => ({ target, kind })),
);

const isTarget = (word: string): word is Target => (targets as readonly string[]).includes(word);
const isKind = (word: string): word is FaultKind => (faultKinds as readonly string[]).includes(word);

export const faultWords = `a target (${targets.join(', ')}), a fault (${faultKinds.join(', ')}), or both: core:kill`;

/**
 * The faults that `--only` chooses: words separated by commas, each a target, a kind, or `target:kind`. Undefined when a word
 * is none of these.
 */
export function readFaults(text: string): readonly Fault[] | undefined {
  const chosen = text.split(',').map((part) => {
    const [first = '', second, ...more] = part.trim().toLowerCase().split(':');
    if (more.length > 0) return undefined;
    if (second !== undefined)
      return isTarget(first) && isKind(second) ? [{ target: first, kind: second }] : undefined;
    if (!isTarget(first) && !isKind(first)) return undefined;
    return allFaults.filter(({ target, kind }) => target === first || kind === first);
  });
  if (chosen.some((each) => each === undefined)) return undefined;
  const words = new Set(chosen.flatMap((each) => each ?? []).map(faultName));
  return allFaults.filter((fault) => words.has(faultName(fault)));
}

export const faultName = ({ target, kind }: Fault): string => `${target}:${kind}`;
