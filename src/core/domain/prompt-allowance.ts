/*
 * Limits how often a phone is prompted, and by which merchants. Requesters that the payer never paid must neither flood the payer nor block the
 * payer's own merchants: docs/adr/0018. Each prompt is of one kind. Each kind has a limit per ten minutes.
 */

/**
 * OWN: a direct payment of a merchant that the phone has paid before. COMMON: a prompt of any requester. NEW_MERCHANT: a direct payment of a
 * merchant that has no unconfirmed prompt at this phone in the last ten minutes. NEW_NETWORK: a checkout page, from a network that has no such
 * prompt. OWN_PAGE: the same, of a merchant that the phone has paid before.
 */
export type PromptKind = 'OWN' | 'OWN_PAGE' | 'COMMON' | 'NEW_MERCHANT' | 'NEW_NETWORK';

/** The kind of a stored attempt. NO_PROMPT: the payer pays on a page of the wallet, so the attempt does not count. */
export type StoredPromptKind = PromptKind | 'NO_PROMPT';

/** The merchant or checkout page that requests a prompt. */
export interface PromptRequester {
  readonly merchantId: string;
  /** The customer's network for a checkout page; null for a direct payment. */
  readonly network: string | null;
  /** Whether the phone has confirmed a payment to this merchant before. */
  readonly hasPaid: boolean;
}

/** A prompt that the phone has had in the last ten minutes. */
export interface PastPrompt extends Omit<PromptRequester, 'hasPaid'> {
  readonly kind: PromptKind;
  readonly agoMs: number;
  /** How long the payer can still answer it; 0 once it has ended. */
  readonly openMs: number;
  readonly wasConfirmed: boolean;
}

export type PromptDecision =
  | { readonly type: 'allowed'; readonly kind: PromptKind }
  /** PHONE_BUSY: the phone has an open prompt. PHONE_LIMIT: the limit of each eligible kind is reached. In both cases, retry after `waitMs`. */
  | { readonly type: 'refused'; readonly reason: 'PHONE_BUSY' | 'PHONE_LIMIT'; readonly waitMs: number };

export const promptWindowMs = 10 * 60_000;

/** A prompt that is dated further into the future was made before the database's clock was set back. It would block its phone until then. */
const clockErrorMs = 60_000;

/**
 * How long another requester's prompt blocks a new prompt of this kind, from its start. After that time, a payer who waits for the new
 * prompt has dismissed the other one. The time is shortest for the payer's own merchants, so that they get a gap after each prompt of another requester.
 */
const holdMs: Readonly<Record<PromptKind, number>> = {
  OWN: 15_000,
  OWN_PAGE: 15_000,
  NEW_MERCHANT: 25_000,
  NEW_NETWORK: 25_000,
  COMMON: 60_000,
};

/** The number of unconfirmed prompts of each kind per ten minutes, from the limit that the operator sets for OWN and COMMON. */
export const promptLimits = (commonLimit: number): Readonly<Record<PromptKind, number>> => ({
  OWN: commonLimit,
  OWN_PAGE: 2,
  COMMON: commonLimit,
  NEW_MERCHANT: 3,
  NEW_NETWORK: 2,
});

/** The largest number of unconfirmed prompts that a phone gets in ten minutes, from all requesters together. */
export const maxUnconfirmedPrompts = (commonLimit: number): number =>
  Object.values(promptLimits(commonLimit)).reduce((sum, limit) => sum + limit, 0);

/** The largest number of prompts that a phone gets in ten minutes, including confirmed ones. */
export const maxPrompts = (commonLimit: number): number => 2 * maxUnconfirmedPrompts(commonLimit);

/**
 * Decides whether a phone may be prompted now, from all its prompts of the last ten minutes. The payer wanted the confirmed
 * ones, so they count only toward `maxPrompts`. `commonLimit`: the limit of the kinds OWN and COMMON, above 0.
 */
export function decidePrompt(
  requester: PromptRequester,
  found: readonly PastPrompt[],
  commonLimit: number,
): PromptDecision {
  const past = found.filter(({ agoMs }) => agoMs >= -clockErrorMs);
  if (past.length >= maxPrompts(commonLimit)) return limited(past);
  const unconfirmed = past.filter(({ wasConfirmed }) => !wasConfirmed);
  const limits = promptLimits(commonLimit);
  const waits = eligibleKinds(requester, unconfirmed).map((kind) => {
    const counted = unconfirmed.filter((prompt) => prompt.kind === kind);
    const isFull = counted.length >= limits[kind];
    const freeInMs = isFull ? untilOldestEnds(counted) : 0;
    const holding = past.filter((prompt) => heldMs(prompt, requester, kind) > 0);
    const quietInMs = Math.max(0, ...holding.map((prompt) => heldMs(prompt, requester, kind)));
    const isBusy = !isFull && holding.some(({ openMs }) => openMs > 0);
    return { kind, isBusy, waitMs: Math.max(freeInMs, quietInMs) };
  });
  const [first, ...others] = waits;
  if (first === undefined) throw new Error('no kind of prompt is eligible for this requester');
  const soonest = others.reduce((best, one) => (one.waitMs < best.waitMs ? one : best), first);
  if (soonest.waitMs <= 0) return { type: 'allowed', kind: soonest.kind };
  const reason = soonest.isBusy ? 'PHONE_BUSY' : 'PHONE_LIMIT';
  return { type: 'refused', reason, waitMs: soonest.waitMs };
}

/** The kinds that a requester's prompt may have. The kind that others need least is first. */
function eligibleKinds(
  requester: PromptRequester,
  unconfirmed: readonly PastPrompt[],
): readonly PromptKind[] {
  const isNew = !unconfirmed.some((prompt) =>
    requester.network === null
      ? prompt.network === null && prompt.merchantId === requester.merchantId
      : prompt.network === requester.network,
  );
  if (requester.network === null)
    return [
      ...(requester.hasPaid ? ['OWN' as const] : []),
      'COMMON',
      ...(isNew ? ['NEW_MERCHANT' as const] : []),
    ];
  // Anyone can open a merchant's pages. So OWN_PAGE is only for a network that has no unconfirmed prompt at this phone.
  return [
    ...(requester.hasPaid && isNew ? ['OWN_PAGE' as const] : []),
    'COMMON',
    ...(isNew ? ['NEW_NETWORK' as const] : []),
  ];
}

/** How long an earlier prompt blocks a prompt of this kind for a requester. */
function heldMs(prompt: PastPrompt, requester: PromptRequester, kind: PromptKind): number {
  // A requester has one prompt at a time, as long as the payer can answer it.
  if (prompt.merchantId === requester.merchantId && prompt.network === requester.network)
    return prompt.openMs;
  // Prompts of requesters that the payer never paid are spaced out, even if the payer declines each at once. Pages need no key, so their space is larger.
  const isSpaced = kind === 'COMMON' || (kind === 'NEW_NETWORK' && prompt.network !== null);
  if (isSpaced) return prompt.wasConfirmed ? 0 : holdMs.COMMON - prompt.agoMs;
  return Math.min(prompt.openMs, holdMs[kind] - prompt.agoMs);
}

const limited = (prompts: readonly PastPrompt[]): PromptDecision => ({
  type: 'refused',
  reason: 'PHONE_LIMIT',
  waitMs: untilOldestEnds(prompts),
});

const untilOldestEnds = (prompts: readonly PastPrompt[]): number =>
  promptWindowMs - Math.max(...prompts.map(({ agoMs }) => agoMs));

const minuteMs = 60_000;

/**
 * The wait as a refused requester reads it, never too short. It is rounded up to 5 seconds, or to a minute above one minute, plus
 * up to one step by `chance` (0 to 1). So no requester learns the exact time at which the phone may be prompted, and waiting
 * requesters do not all return at once.
 */
export function statedWaitMs(waitMs: number, chance: number): number {
  const step = waitMs <= minuteMs ? 5_000 : minuteMs;
  return Math.ceil(waitMs / step) * step + Math.floor(chance * step);
}
