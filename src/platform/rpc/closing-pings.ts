import type { Http2Session } from 'node:http2';

/** How often grpc-js pings the peer of a connection, and how long it waits for the answer, in milliseconds. */
export const pings = { everyMs: 10_000, answerWithinMs: 5_000 };

/**
 * Lets a session that is closing send pings. While a server drains, its running calls continue on such sessions. Node refuses pings on
 * them, and grpc-js takes the refusal for a lost connection: it would end all calls of the connection, which has no other fault.
 */
export function pingWhileClosing(session: Http2Session): void {
  const ping = Reflect.get<Http2Session, 'ping'>(session, 'ping');
  const stillOpen = Object.create(session, { closed: { value: false } }) as Http2Session;
  session.ping = (...given: unknown[]): boolean =>
    Reflect.apply(ping, session.destroyed ? session : stillOpen, given) as boolean;
}
