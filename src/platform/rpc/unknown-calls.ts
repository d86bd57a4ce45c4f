import { ServerInterceptingCall } from '@grpc/grpc-js';
import type { ServerInterceptor } from '@grpc/grpc-js';
import { maxUnknownCallerBytes } from './known-caller.ts';

type Call = Parameters<ServerInterceptor>[1];
type Listener = Parameters<Call['start']>[0];
type CallMetadata = Parameters<Listener['onReceiveMetadata']>[0];

export interface UnknownCallsOptions {
  /** The largest message of the call's sender, in bytes: `maxUnknownCallerBytes` for an unknown one. */
  readonly maxBytesOf: (metadata: CallMetadata, call: Pick<Call, 'getAuthContext'>) => number;
  /** The limit that the server has for all calls. */
  readonly maxBytesOfServer: number;
  /** Whether a method, by its path, is open to anyone. */
  readonly isOpen: (path: string) => boolean;
}

/**
 * Reads no message of a caller that will be refused. grpc-js would keep incomplete messages in memory, up to 4 MiB for each of thousands of
 * calls. The method gets an empty message instead, and its guard refuses the call. Methods that are open to anyone get small messages. A
 * caller with a lower limit than the server's gets its own.
 */
export const unknownCalls =
  ({ maxBytesOf, maxBytesOfServer, isOpen }: UnknownCallsOptions): ServerInterceptor =>
  (method, call) =>
    new UnreadUnlessKnown(call, (metadata) => {
      const bytes = maxBytesOf(metadata, call);
      if (bytes <= maxUnknownCallerBytes && !isOpen(method.path)) return true;
      if (bytes < maxBytesOfServer) limitMessages(call, bytes);
      return false;
    });

const emptyMessage = Buffer.alloc(0);

class UnreadUnlessKnown extends ServerInterceptingCall {
  readonly #state: { isRefused: boolean; reads: number };
  #listener: Listener | undefined;

  constructor(call: Call, isRefused: (metadata: CallMetadata) => boolean) {
    const state = { isRefused: false, reads: 0 };
    super(call, {
      start: (next) =>
        next({
          onReceiveMetadata: (metadata, pass) => {
            state.isRefused = isRefused(metadata);
            pass(metadata);
          },
        }),
    });
    this.#state = state;
  }

  override start(listener: Listener): void {
    this.#listener = listener;
    super.start(listener);
  }

  override startRead(): void {
    if (!this.#state.isRefused) {
      super.startRead();
      return;
    }
    this.#state.reads += 1;
    if (this.#state.reads === 1) this.#listener?.onReceiveMessage(emptyMessage);
    else this.#listener?.onReceiveHalfClose();
  }
}

/**
 * Sets the message limit of one call. grpc-js has one limit for all calls of a server. So this sets the limit in the decoder of the call,
 * and in the call itself for a message that was decompressed.
 * @throws when this version keeps them elsewhere
 */
function limitMessages(call: Call, bytes: number): void {
  const decoder: unknown = Reflect.get(call, 'decoder');
  if (
    typeof decoder !== 'object' ||
    decoder === null ||
    !('maxReadMessageLength' in decoder) ||
    !Reflect.has(call, 'maxReceiveMessageSize')
  )
    throw new Error('this version of grpc-js does not keep the limit of a message where it is expected');
  decoder.maxReadMessageLength = bytes;
  Reflect.set(call, 'maxReceiveMessageSize', bytes);
}
