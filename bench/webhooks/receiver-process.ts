import { fork } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';

type Message = { readonly port: number } | { readonly arrivals: readonly [string, number][] };

/** The merchants' server, in its own process. */
export interface ReceiverProcess {
  readonly port: number;
  /** When each webhook arrived for the first time, by `clockMs`. Those of the last few milliseconds may be missing. */
  readonly arrived: ReadonlyMap<string, number>;
  /** The webhooks that arrived again, once for each time. */
  readonly repeats: readonly string[];
  readonly stop: () => Promise<void>;
}

/** The clock that all processes of this machine share, in milliseconds. */
export const clockMs = (): number => Number(process.hrtime.bigint()) / 1e6;

export async function startReceiverProcess(): Promise<ReceiverProcess> {
  const arrived = new Map<string, number>();
  const repeats: string[] = [];
  const child = fork(resolve(import.meta.dirname, 'receiver.ts'));
  const port = await new Promise<number>((found) => {
    child.on('message', (message: Message) => {
      if ('port' in message) found(message.port);
      else
        for (const [id, at] of message.arrivals) {
          if (arrived.has(id)) repeats.push(id);
          else arrived.set(id, at);
        }
    });
  });
  return {
    port,
    arrived,
    repeats,
    stop: async () => {
      child.disconnect();
      await once(child, 'exit');
    },
  };
}
