import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { Stoppable } from '../lifecycle.ts';

/** How long replies say `Connection: close` before listeners close: clients leave by themselves, in order. */
const drainMs = 500;

/** The time before a process stops, in which it tells whoever talks to it to go to another. */
export interface Draining {
  /** Aborts when it begins. */
  readonly signal: AbortSignal;
  /** The first part of the process to stop, before its listeners. */
  readonly part: Stoppable;
}

export function createDraining(): Draining {
  const draining = new AbortController();
  const begin = async (): Promise<void> => {
    draining.abort();
    await delay(drainMs);
  };
  return { signal: draining.signal, part: { name: 'draining', timeoutMs: drainMs + 100, stop: begin } };
}

/**
 * Has every answer end its connection from the time that `draining` aborts or the server closes, so that clients go to
 * another process by themselves. Gives whether it is so far.
 */
export function closeConnectionsWhenDraining(app: FastifyInstance, draining: AbortSignal): () => boolean {
  let closing = false;
  const isDraining = (): boolean => closing || draining.aborted;
  app.addHook('preClose', (done) => {
    closing = true;
    done();
  });
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (isDraining()) reply.header('connection', 'close');
    done(null, payload);
  });
  return isDraining;
}
