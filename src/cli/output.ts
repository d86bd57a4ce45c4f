import type { JsonObject } from '@bufbuild/protobuf';
import type { CoreClients } from './core-clients.ts';
import { printable } from './table.ts';

/** The output of a command, for scripts and for people. */
export interface Output {
  readonly json: JsonObject;
  /** For a terminal that is `width` columns wide. */
  readonly text: string | ((width: number) => string);
  /** The exit code, if the command succeeded with a result that scripts must notice. */
  readonly exitCode?: number;
}

/** Runs a command with the clients of its servers, cores by default, and prints the output. */
export type Runner<Clients = CoreClients> = (use: (clients: Clients) => Promise<Output>) => Promise<void>;

/**
 * One line of JSON. Characters that control a terminal are escaped, because JSON itself permits C1 controls and characters
 * that change the direction of writing in its texts. Programs read the same values.
 */
export const jsonLine = (json: JsonObject): string => `${printable(JSON.stringify(json))}\n`;

/** A part of a reply that is always present according to the contract. */
export function requireField<Message>(message: Message | undefined): Message {
  if (message === undefined)
    throw new Error('the reply of the server lacks a field that this command requires');
  return message;
}
