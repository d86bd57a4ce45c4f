import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { Stoppable } from '../lifecycle.ts';

/** How long replies say `Connection: close` before the listeners close, so that clients can move to another process. */
const drainMs = 500;

/** The phase before a process stops, in which it moves its clients to other processes. */
export interface Draining {
  /** Aborts when the phase begins. */
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
 * Closes each connection after its answer once `draining` aborts or the server closes, so that clients move to another
 * process. Returns a function that tells whether this has begun.
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
