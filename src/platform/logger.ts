import { pino, stdSerializers } from 'pino';
import type { DestinationStream, Logger } from 'pino';
import { openBackgroundOutput } from './background-output.ts';
import { maskFields, maskPhone, maskSensitive } from './mask-sensitive.ts';
import { withSourcePositions } from './source-positions.ts';
import { traceMembersOfLine } from './tracing/span.ts';

export type { Logger } from 'pino';

export interface LoggerOptions {
  /** The process's name, such as "core". */
  readonly process: string;
  /** Distinguishes processes with the same name. */
  readonly instance: string;
  readonly level: string;
}

/**
 * Members whose values must never be logged, at any depth. The finished line is searched, because errors and objects with
 * their own serialisation have their final form only there.
 */
const secretMembers =
  /("[\w-]*(?:api[_-]?key|authorization|secret|token|password|master[_-]?key)":)(?:"(?:[^"\\]|\\.)*"|\[(?:"(?:[^"\\]|\\.)*"|[^\]"])*\]|[\w.-]+)/gi;

/** A quick test: only a text that matches this pattern can match `secretMembers`, and almost no line does. */
const secretHint = /(?:key|authorization|secret|token|password)":/i;

const maskMembers = (line: string): string =>
  secretHint.test(line) ? line.replace(secretMembers, '$1"[masked]"') : line;

/** In errors, any number of 9 to 15 digits may be a phone number, with or without a plus. Parts of a UUID are excluded. */
const phoneLike = /(?<![\w-])\+?[0-9]{9,15}(?!\w)/g;

const maskErrorText = (text: string): string => maskSensitive(text).replace(phoneLike, maskPhone);

/** grpc-js reports a server that it cannot reach as an error within an error, with an empty note at the end. */
const unreached =
  /(?:\w+: )?No connection established\. Last error: (?:No connection established\. Last error: )*/g;
const shorten = (text: string): string =>
  text.replace(unreached, 'No connection established: ').replaceAll(/\. Resolution note: (?=\n|$)/g, '');

/** The code before the message of an RPC's error: "[unavailable] …" of Connect, "14 UNAVAILABLE: …" of grpc-js. */
const leadingCode = /^(?:\[\w+\]|\d+ [A-Z_]+:) /;

/** The messages of an error and its causes. A cause that only repeats the message of the error around it is left out. */
function messagesOf(error: object): string {
  const messages: string[] = [];
  const seen = new Set<object>();
  for (let next: unknown = error; next instanceof Error && !seen.has(next); next = next.cause) {
    seen.add(next);
    const message = shorten(next.message);
    const repeated = message.replace(leadingCode, '');
    if (!messages.some((outer) => outer.endsWith(repeated))) messages.push(message);
  }
  return messages.join(': ');
}

/** What esbuild adds to the name of a class in a bundle: an underscore if it names itself, a digit if another has its name. */
const bundledName = /^_|\d+$/g;

/**
 * The logged form of an error: type, message, stack and its other plain values. A database error quotes the statement or the
 * row, which may contain the customer's phone number. Nested objects are left out, because they may contain anything.
 */
function describeError(error: unknown): unknown {
  if (typeof error === 'string') return maskErrorText(error);
  if (typeof error !== 'object' || error === null) return error;
  const members = Object.entries<unknown>(stdSerializers.err(error as Error)).flatMap(([name, value]) => {
    if (name === 'aggregateErrors' && Array.isArray(value)) return [[name, value.map(describeError)]];
    if (typeof value === 'object' || typeof value === 'function') return [];
    // Codes of RPCs are numbers, and those of databases and sockets are texts. Many stores of logs refuse a line whose field has
    // another type than in earlier lines.
    if (name === 'code' && typeof value === 'number') return [[name, String(value)]];
    if (typeof value !== 'string') return [[name, value]];
    if (name === 'type') return [[name, value.replace(bundledName, '')]];
    if (name === 'message' && error instanceof Error) return [[name, maskErrorText(messagesOf(error))]];
    return [[name, maskErrorText(name === 'stack' ? shorten(withSourcePositions(value)) : value)]];
  });
  return Object.fromEntries(members);
}

/**
 * A structured logger: one JSON object per line, times in ISO 8601 UTC, levels by name. Without a destination it writes
 * synchronously to standard output. It masks secrets twice, so that callers need not. Members with the name of a secret are
 * masked at any depth. Texts are masked by their form (`maskSensitive`), because callers may put a phone number into an order
 * number, or a key into a request id.
 */
export function createLogger(options: LoggerOptions, destination?: DestinationStream): Logger {
  const settings = {
    level: options.level,
    base: { process: options.process, instance: options.instance },
    timestamp: createBeginning(),
    formatters: {
      level: (label: string) => ({ level: label }),
      log: (fields: Record<string, unknown>) => maskFields(fields),
    },
    serializers: { err: describeError },
    hooks: { streamWrite: maskMembers },
  };
  return destination === undefined ? pino(settings) : pino(settings, destination);
}

/**
 * Gives the member with the time of a line, and those with the ids of its span. Under load, many lines have the same millisecond.
 * The ids are appended as text, because a copy of the fields with two more costs several times as much.
 */
function createBeginning(): () => string {
  let writtenMs = -1;
  let written = '';
  return () => {
    const nowMs = Date.now();
    if (nowMs !== writtenMs) {
      writtenMs = nowMs;
      written = `,"time":"${new Date(nowMs).toISOString()}"`;
    }
    return written + traceMembersOfLine();
  };
}

/** The members of a process that its log needs. */
export type LoggingProcess = Pick<NodeJS.Process, 'stdout' | 'on'>;

/** The process's standard output for its logger. Writing never waits for the reader. The exit writes the remaining lines. */
export function standardOutput(process: LoggingProcess): DestinationStream {
  // Node makes a pipe or socket non-blocking at the first access to its stream.
  const output = openBackgroundOutput(process.stdout.fd, explainDropped);
  process.on('exit', output.flushAtExit);
  return output;
}

function explainDropped(dropped: number): string {
  const time = new Date().toISOString();
  return `${JSON.stringify({ level: 'warn', time, dropped, msg: 'log lines were dropped, because the reader of the output is too slow' })}\n`;
}
