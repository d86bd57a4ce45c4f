import pTimeout from 'p-timeout';
import { requestedWaitMs } from './requested-wait.ts';
import type { NotSent } from './json-reply.ts';
import type { Answer, RawExchange } from './raw-exchange.ts';

/** An access token, or why there is none. The exchanges are empty when the token was cached. */
export type TokenResult = { readonly exchanges: readonly RawExchange[] } & (
  | { readonly kind: 'token'; readonly token: string }
  | (Omit<NotSent, 'kind'> & { readonly kind: 'none' })
);

/** A wallet's answer to a request for an access token. */
export type FetchedToken = { readonly exchange: RawExchange } & (
  | { readonly kind: 'token'; readonly token: string; readonly lifetimeMs: number }
  | {
      readonly kind: 'none';
      readonly detail: string;
      /** Whether the body refused the credentials, whatever the status. */
      readonly areCredentialsRefused?: boolean;
    }
);

/** Whether an answer without an access token refuses the credentials, by its status. */
export const refusesTokenBy = (status: number | undefined): boolean =>
  status === 400 || status === 401 || status === 403;

/** The advice after an answer without an access token: the credentials, if the wallet refused them. */
export const adviceOnToken = (status: number, credentials: string): string =>
  refusesTokenBy(status) ? `; check ${credentials}` : '';

/** A token is not used in this time before its expiry, so that it is still valid when the request arrives. A short-lived one has less. */
const longestMarginMs = 30_000;

/** The access token of one set of credentials, and the request for the next one. */
interface TokenSlot {
  cached: { readonly token: string; readonly staleAtMs: number } | undefined;
  underWay: Promise<TokenResult> | undefined;
}

const emptySlot = (): TokenSlot => ({ cached: undefined, underWay: undefined });

/**
 * The access tokens of wallets where a new token ends the previous one. All connectors of the process with the same credentials
 * share one, because they would otherwise end each other's.
 */
export class SharedTokens {
  readonly #slots = new Map<string, TokenSlot>();

  /** The slot of these credentials: the address of the wallet, and all parts of the credentials. */
  slotOf(credentials: readonly string[], now: Date): TokenSlot {
    const key = JSON.stringify(credentials);
    const known = this.#slots.get(key);
    if (known !== undefined) return known;
    for (const [other, { cached, underWay }] of this.#slots)
      if (underWay === undefined && (cached?.staleAtMs ?? 0) <= now.getTime()) this.#slots.delete(other);
    const slot = emptySlot();
    this.#slots.set(key, slot);
    return slot;
  }
}

/**
 * The access token for one set of credentials. It is fetched at first use, once for all waiting callers, and again shortly
 * before it expires.
 */
export class AccessTokens {
  readonly #fetch: () => Promise<FetchedToken>;
  readonly #now: () => Date;
  readonly #slot: () => TokenSlot;

  /**
   * @param fetch must end within the time limit of a call, and never reject
   * @param shared the tokens that other connectors use too, and the credentials of this one
   */
  constructor(
    fetch: () => Promise<FetchedToken>,
    now: () => Date,
    shared?: { readonly tokens: SharedTokens; readonly credentials: readonly string[] },
  ) {
    this.#fetch = fetch;
    this.#now = now;
    const ownSlot = emptySlot();
    this.#slot = () => (shared === undefined ? ownSlot : shared.tokens.slotOf(shared.credentials, now()));
  }

  /** The current token. `signal` ends only the wait of this caller, not the fetch for others. */
  async get(signal: AbortSignal): Promise<TokenResult> {
    const slot = this.#slot();
    if (slot.cached !== undefined && this.#now().getTime() < slot.cached.staleAtMs) {
      return { kind: 'token', token: slot.cached.token, exchanges: [] };
    }
    slot.underWay ??= this.#renew(slot).finally(() => {
      slot.underWay = undefined;
    });
    return untilAborted(slot.underWay, signal);
  }

  /** Drops a refused token, unless a newer one was fetched since. */
  drop(token: string): void {
    const slot = this.#slot();
    if (slot.cached?.token === token) slot.cached = undefined;
  }

  async #renew(slot: TokenSlot): Promise<TokenResult> {
    const fetched = await this.#fetch();
    const exchanges = [fetched.exchange];
    if (fetched.kind === 'none') {
      const { detail, areCredentialsRefused = false, exchange } = fetched;
      const retryAfterMs = requestedWaitMs(exchange.responseHeaders, exchange.endedAt);
      const why = areCredentialsRefused ? 'unauthenticated' : 'no_token';
      return {
        kind: 'none',
        why,
        detail,
        ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
        exchanges,
      };
    }
    const { token, lifetimeMs } = fetched;
    slot.cached = { token, staleAtMs: fetched.exchange.startedAt.getTime() + usableMs(lifetimeMs) };
    return { kind: 'token', token, exchanges };
  }
}

const usableMs = (lifetimeMs: number): number => lifetimeMs - Math.min(longestMarginMs, lifetimeMs / 4);

/**
 * Sends a request with an access token. A refused token decides nothing: the wallet no longer accepts it, for example after a
 * restart. The request is then sent once more with a new token.
 */
export async function callWithToken<Reply extends { readonly kind: string }>(
  tokens: AccessTokens,
  signal: AbortSignal,
  send: (token: string) => Promise<{ readonly reply: Reply; readonly exchange: RawExchange }>,
  isTokenRefused: (reply: Reply) => boolean,
): Promise<Answer<Reply | NotSent>> {
  const attempt = async () => {
    const access = await tokens.get(signal);
    if (access.kind === 'none') {
      const { exchanges, ...none } = access;
      const reply: NotSent = { ...none, kind: 'not_sent' };
      return { reply, exchanges, refusedToken: undefined };
    }
    const { reply, exchange } = await send(access.token);
    const refusedToken = isTokenRefused(reply) ? access.token : undefined;
    return { reply, exchanges: [...access.exchanges, exchange], refusedToken };
  };
  const first = await attempt();
  if (first.refusedToken === undefined) return { result: first.reply, exchanges: first.exchanges };
  tokens.drop(first.refusedToken);
  const second = await attempt();
  // The first request was sent. So if the second cannot be sent, the first answer counts.
  const result = second.reply.kind === 'not_sent' ? first.reply : second.reply;
  return { result, exchanges: [...first.exchanges, ...second.exchanges] };
}

async function untilAborted(result: Promise<TokenResult>, signal: AbortSignal): Promise<TokenResult> {
  try {
    return await pTimeout(result, { milliseconds: Infinity, signal });
  } catch (error) {
    if (!signal.aborted) throw error;
    return {
      kind: 'none',
      why: isTimeout(signal.reason) ? 'timeout' : 'aborted',
      detail: 'abandoned while waiting for an access token',
      exchanges: [],
    };
  }
}

/** The abort reason of AbortSignal.timeout() (WHATWG DOM, section 3.2). */
const isTimeout = (reason: unknown): boolean =>
  typeof reason === 'object' && reason !== null && 'name' in reason && reason.name === 'TimeoutError';
