import type { JsonObject } from '@bufbuild/protobuf';
import type { CoreClients } from './core-clients.ts';

/** What a command has to say, once for scripts and once for people. */
export interface Output {
  readonly json: JsonObject;
  /** For a terminal that is `width` columns wide. */
  readonly text: string | ((width: number) => string);
  /** What the process ends with, when the command was done and yet there is something to tell a script. */
  readonly exitCode?: number;
}

/**
 * Runs what a command does with the servers it is for, cores unless said otherwise, and prints the output.
 */
export type Runner<Clients = CoreClients> = (use: (clients: Clients) => Promise<Output>) => Promise<void>;

/** The part of a reply that the contract says is always there. */
export function answered<Message>(message: Message | undefined): Message {
  if (message === undefined) throw new Error('the server left out of its reply what was asked for');
  return message;
}
