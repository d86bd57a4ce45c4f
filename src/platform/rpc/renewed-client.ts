import { connectivityState } from '@grpc/grpc-js';
import type { Client } from '@grpc/grpc-js';

export interface RenewedClient {
  /** The client for the next call. */
  readonly current: () => Client;
  /** Accepts no new calls, and closes the connections when the running calls have ended. */
  readonly close: () => void;
}

/**
 * After each interval with calls, a new client is made, which has one interval to connect. Then the new client replaces the current one, or
 * is closed. Every client resolves the name of its servers, so added servers get their share. grpc-js alone resolves a name again only when
 * a connection ends. Clients with the same options share their connections. A replaced client is closed an interval later, because its
 * calls may be repeated until then.
 *
 * The interval also replaces `waitForReady` of grpc-js, whose timer keeps a process alive after the client is closed.
 */
export function renewClient(make: () => Client, everyMs: number): RenewedClient {
  let current = make();
  let replaced: Client | undefined;
  let next: Client | undefined;
  let isUsed = false;
  const renew = (): void => {
    replaced?.close();
    replaced = undefined;
    if (next?.getChannel().getConnectivityState(false) === connectivityState.READY) {
      replaced = current;
      current = next;
    } else next?.close();
    next = isUsed ? make() : undefined;
    isUsed = false;
    const connect = true;
    next?.getChannel().getConnectivityState(connect);
  };
  const timer = setInterval(renew, everyMs).unref();
  return {
    current: () => {
      isUsed = true;
      return current;
    },
    close: () => {
      clearInterval(timer);
      for (const each of [replaced, current, next]) each?.close();
    },
  };
}
