import { Code, ConnectError } from '@connectrpc/connect';
import type { ListenToSandboxEventsResponse } from '../gen/gatehouse/v1/webhook_service_pb.js';
import { pause } from '../platform/pause.ts';
import { reasonOf } from '../platform/rpc/rpc-error.ts';
import type { WebhookClients } from './webhooks/webhook-clients.ts';

export interface EventReception {
  readonly webhooks: WebhookClients['webhooks'];
  readonly merchantId: string;
  /** Called when the connection is open. `isAgain` is true after a lost connection. */
  readonly onConnected: (isAgain: boolean) => void;
  readonly onLost: () => void;
}

const reconnectMs = 500;

/**
 * A merchant's sandbox events as they happen, until `stop` aborts. After a lost connection, it reconnects to that server
 * or another one. Events in between are missed.
 * @throws ConnectError when the first connection fails, or for a reason that waiting does not resolve
 */
export async function* receiveEvents(
  { webhooks, merchantId, onConnected, onLost }: EventReception,
  stop: AbortSignal,
): AsyncGenerator<ListenToSandboxEventsResponse, void> {
  const isOver = (): boolean => stop.aborted;
  let wasConnected = false;
  let isConnected = false;
  while (!isOver()) {
    try {
      for await (const message of webhooks.listenToSandboxEvents({ merchantId }, { signal: stop })) {
        if (!isConnected) onConnected(wasConnected);
        isConnected = true;
        wasConnected = true;
        if (message.eventId !== '') yield message;
      }
    } catch (error) {
      if (isOver()) return;
      if (!wasConnected || !isTransient(error)) throw error;
    }
    if (isOver()) return;
    if (isConnected) onLost();
    isConnected = false;
    await pause(reconnectMs, stop);
  }
}

/** Whether the connection failed, or a server that will be available again. */
const isTransient = (error: unknown): boolean =>
  error instanceof ConnectError && (error.code === Code.Unavailable || reasonOf(error) === undefined);
