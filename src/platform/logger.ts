import { pino, stdSerializers } from 'pino';
import type { DestinationStream, Logger } from 'pino';
import { openBackgroundOutput } from './background-output.ts';
import { maskFields, maskPhone, maskSensitive } from './mask-sensitive.ts';

export type { Logger } from 'pino';

export interface LoggerOptions {
  /** The process's name, such as "core". */
  readonly process: string;
  /** Which of several processes of that name this is. */
  readonly instance: string;
  readonly level: string;
}

/**
 * Members whose values must never be written, whoever logs the object they are in and however deep. Looked for in the
 * finished line, because only there have errors and other objects with ways of their own become what is written.
 */
const secretMembers =
  /("[\w-]*(?:api[_-]?key|authorization|secret|token|password|master[_-]?key)":)(?:"(?:[^"\\]|\\.)*"|\[(?:"(?:[^"\\]|\\.)*"|[^\]"])*\]|[\w.-]+)/gi;

/** In errors any number of 9 to 15 digits may be a phone, perhaps with a plus; not the inside of a UUID. */
const phoneLike = /(?<![\w-])\+?[0-9]{9,15}(?!\w)/g;

const maskErrorText = (text: string): string => maskSensitive(text).replace(phoneLike, maskPhone);

/**
 * An error as it is written: type, message, stack and what else it says in plain values. A database's error quotes the
 * statement or the row, with the customer's phone in it; objects that an error drags along may hold anything.
 */
function describeError(error: unknown): unknown {
  if (typeof error === 'string') return maskErrorText(error);
  if (typeof error !== 'object' || error === null) return error;
  const members = Object.entries<unknown>(stdSerializers.err(error as Error)).flatMap(([name, value]) => {
    if (name === 'aggregateErrors' && Array.isArray(value)) return [[name, value.map(describeError)]];
    if (typeof value === 'object' || typeof value === 'function') return [];
    return [[name, typeof value === 'string' ? maskErrorText(value) : value]];
  });
  return Object.fromEntries(members);
}

/**
 * A structured logger: one JSON object a line, times in ISO 8601 UTC, levels by name; to standard output, each line waited
 * for, when no destination is given.
 * Two nets, so that no caller of it has to think of them: members that are named like secrets are masked wherever they
 * stand, and texts are masked by form (`maskSensitive`), because callers fill fields with what does not belong there: a
 * phone as an order number, a key as a request id.
 */
export function createLogger(options: LoggerOptions, destination?: DestinationStream): Logger {
  const settings = {
    level: options.level,
    base: { process: options.process, instance: options.instance },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: {
      level: (label: string) => ({ level: label }),
      log: (fields: Record<string, unknown>) => maskFields(fields),
    },
    serializers: { err: describeError },
    hooks: { streamWrite: (line: string) => line.replace(secretMembers, '$1"[masked]"') },
  };
  return destination === undefined ? pino(settings) : pino(settings, destination);
}

/** What of a process its log needs. */
export type LoggingProcess = Pick<NodeJS.Process, 'stdout' | 'on'>;

/** The process's standard output, for its logger: without waiting for whoever reads it, and with the rest at its exit. */
export function standardOutput(process: LoggingProcess): DestinationStream {
  // Node makes a pipe or a socket one that never blocks when its stream is first asked for.
  const output = openBackgroundOutput(process.stdout.fd, explainDropped);
  process.on('exit', output.writeTheRest);
  return output;
}

function explainDropped(dropped: number): string {
  const time = new Date().toISOString();
  return `${JSON.stringify({ level: 'warn', time, dropped, msg: 'log lines were dropped: nobody read them' })}\n`;
}
