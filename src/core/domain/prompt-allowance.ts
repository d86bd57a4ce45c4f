/*
 * How often a phone is asked to confirm payments, and by whom. Strangers must neither flood a payer nor use up what the
 * payer's own merchants need: docs/adr/0018. Prompts are allowed into places. Each kind of place has a size, for ten minutes.
 */

/**
 * OWN: a direct payment of a merchant that the phone has paid before. OWN_PAGE: a checkout page of such a merchant.
 * COMMON: everybody. NEW_MERCHANT: a direct payment of a merchant that has not asked the phone in the window. NEW_NETWORK: a
 * checkout page, from a network that has not.
 */
export type PromptPlace = 'OWN' | 'OWN_PAGE' | 'COMMON' | 'NEW_MERCHANT' | 'NEW_NETWORK';

/** Who would have a phone asked. */
export interface PromptAsker {
  readonly merchantId: string;
  /** The customer's network for a checkout page; null for a direct payment. */
  readonly network: string | null;
  /** Whether the phone has confirmed a payment to this merchant before. */
  readonly hasPaid: boolean;
}

/** A prompt that the phone has had in the window. */
export interface PastPrompt extends Omit<PromptAsker, 'hasPaid'> {
  readonly place: PromptPlace;
  readonly agoMs: number;
  /** How long the payer can still answer it; 0 once it has ended. */
  readonly openMs: number;
  readonly wasConfirmed: boolean;
}

export type PromptDecision =
  | { readonly type: 'allowed'; readonly place: PromptPlace }
  /** BUSY: the phone has a prompt to answer. LIMIT: it has had those that it may have by now. Neither before `waitMs` is over. */
  | { readonly type: 'refused'; readonly reason: 'PHONE_BUSY' | 'PHONE_LIMIT'; readonly waitMs: number };

export const promptWindowMs = 10 * 60_000;

/**
 * How long a prompt of somebody else keeps the phone, from its start. A payer who waits for one's own prompt dismisses the
 * other by then. Shortest for the payer's own merchants: strangers leave them a gap after each of their prompts.
 */
const holdMs: Readonly<Record<PromptPlace, number>> = {
  OWN: 15_000,
  OWN_PAGE: 15_000,
  NEW_MERCHANT: 25_000,
  NEW_NETWORK: 25_000,
  COMMON: 60_000,
};

/** How many prompts of ten minutes each kind of place has, by the share that an operator sets. */
export const placesOf = (share: number): Readonly<Record<PromptPlace, number>> => ({
  OWN: share,
  OWN_PAGE: 2,
  COMMON: share,
  NEW_MERCHANT: 3,
  NEW_NETWORK: 2,
});

/** Prompts that a phone gets at most in ten minutes without confirming them, whoever asks. */
export const mostUnconfirmedPrompts = (share: number): number =>
  Object.values(placesOf(share)).reduce((sum, size) => sum + size, 0);

/** Prompts that a phone gets at most in ten minutes, confirmed ones included. */
export const mostPrompts = (share: number): number => 2 * mostUnconfirmedPrompts(share);

/**
 * Decides whether a phone may be asked now, by all prompts that it has had in the window. What the payer confirmed was
 * wanted, and counts only toward `mostPrompts`. `share`: prompts of one kind of place, above 0.
 */
export function decidePrompt(asker: PromptAsker, past: readonly PastPrompt[], share: number): PromptDecision {
  if (past.length >= mostPrompts(share)) return limited(past);
  const unconfirmed = past.filter(({ wasConfirmed }) => !wasConfirmed);
  const sizes = placesOf(share);
  const waits = eligiblePlaces(asker, unconfirmed).map((place) => {
    const taken = unconfirmed.filter((prompt) => prompt.place === place);
    const isFull = taken.length >= sizes[place];
    const freeInMs = isFull ? untilOldestEnds(taken) : 0;
    const holding = past.filter((prompt) => heldMs(prompt, asker, place) > 0);
    const quietInMs = Math.max(0, ...holding.map((prompt) => heldMs(prompt, asker, place)));
    const isBusy = !isFull && holding.some(({ openMs }) => openMs > 0);
    return { place, isBusy, waitMs: Math.max(freeInMs, quietInMs) };
  });
  const [first, ...others] = waits;
  if (first === undefined) throw new Error('every asker has a place to ask for');
  const soonest = others.reduce((best, one) => (one.waitMs < best.waitMs ? one : best), first);
  if (soonest.waitMs <= 0) return { type: 'allowed', place: soonest.place };
  const reason = soonest.isBusy ? 'PHONE_BUSY' : 'PHONE_LIMIT';
  return { type: 'refused', reason, waitMs: soonest.waitMs };
}

/** The places that an asker may take, the best one for the others first. */
function eligiblePlaces(asker: PromptAsker, unconfirmed: readonly PastPrompt[]): readonly PromptPlace[] {
  const isNew = !unconfirmed.some((prompt) =>
    asker.network === null
      ? prompt.network === null && prompt.merchantId === asker.merchantId
      : prompt.network === asker.network,
  );
  if (asker.network === null)
    return [
      ...(asker.hasPaid ? ['OWN' as const] : []),
      'COMMON',
      ...(isNew ? ['NEW_MERCHANT' as const] : []),
    ];
  // Anybody can open a merchant's pages: what the payer has paid there counts for a network that is new to the phone.
  return [
    ...(asker.hasPaid && isNew ? ['OWN_PAGE' as const] : []),
    'COMMON',
    ...(isNew ? ['NEW_NETWORK' as const] : []),
  ];
}

/** How long a prompt keeps an asker from a place. */
function heldMs(prompt: PastPrompt, asker: PromptAsker, place: PromptPlace): number {
  // One prompt of one asker at a time, for as long as the payer can answer it.
  if (prompt.merchantId === asker.merchantId && prompt.network === asker.network) return prompt.openMs;
  // Strangers come one after the other, even when the payer declines each at once; pages that need no key leave more room.
  const isSpaced = place === 'COMMON' || (place === 'NEW_NETWORK' && prompt.network !== null);
  if (isSpaced) return prompt.wasConfirmed ? 0 : holdMs.COMMON - prompt.agoMs;
  return Math.min(prompt.openMs, holdMs[place] - prompt.agoMs);
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
 * What an asker is told to wait: never less than it takes, in steps of 5 seconds, or of a minute for more than one, and up to
 * a step more by `chance` (0 to 1). So nobody is told the moment at which a place is free, and those who wait do not all
 * come back at once.
 */
export function toldWaitMs(waitMs: number, chance: number): number {
  const step = waitMs <= minuteMs ? 5_000 : minuteMs;
  return Math.ceil(waitMs / step) * step + Math.floor(chance * step);
}
