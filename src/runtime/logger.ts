import { pino } from 'pino';
import type { DestinationStream, Logger } from 'pino';

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
  /("[\w-]*(?:api[_-]?key|authorization|secret|token|password|master[_-]?key)":)(?:"(?:[^"\\]|\\.)*"|\[[^\]]*\]|[\w.-]+)/gi;

/**
 * Keeps enough of a phone number to recognise it by and not enough to call it: `+251911223344` -> `+2519*****344`.
 * Short texts are masked whole.
 */
export function maskPhone(phone: string): string {
  if (phone.length < 9) return '*'.repeat(phone.length);
  return phone.slice(0, 5) + '*'.repeat(phone.length - 8) + phone.slice(-3);
}

/**
 * A structured logger: one JSON object a line on standard output, times in ISO 8601 UTC, levels by name.
 * Secrets are masked by member name wherever they stand; phone numbers must be given through `maskPhone`.
 */
export function createLogger(options: LoggerOptions, destination?: DestinationStream): Logger {
  const settings = {
    level: options.level,
    base: { process: options.process, instance: options.instance },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    hooks: { streamWrite: (line: string) => line.replace(secretMembers, '$1"[masked]"') },
  };
  return destination === undefined ? pino(settings) : pino(settings, destination);
}
