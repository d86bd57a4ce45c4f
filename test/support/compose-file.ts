import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';

const root = resolve(import.meta.dirname, '../..');

/** A service of docker-compose.yml, as `docker compose` would start it. */
export interface ComposeService {
  readonly name: string;
  readonly profiles: readonly string[];
  /** The words of its command; empty for a service that runs the command of its image. */
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** The ports that it publishes, by their numbers in the container. */
  readonly ports: readonly number[];
}

interface WrittenService {
  readonly profiles?: readonly string[];
  readonly command?: string | readonly string[];
  readonly environment?: Readonly<Record<string, string | number>>;
  readonly ports?: readonly string[];
}

/** The end of the braces that open before `start`. */
function endOfBraces(text: string, start: number): number {
  let depth = 1;
  for (let index = start; index < text.length; index++) {
    if (text.startsWith('${', index)) depth++;
    if (text[index] === '}' && --depth === 0) return index;
  }
  throw new Error(`unbalanced braces in ${text}`);
}

/**
 * A value with its `${NAME}`, `${NAME:-default}` and `${NAME:?message}` replaced, as Compose does. @throws Error when a
 * required variable is not set
 */
export function interpolate(text: string, variables: Readonly<Record<string, string>>): string {
  const start = text.indexOf('${');
  if (start < 0) return text;
  const end = endOfBraces(text, start + 2);
  const [, name = '', operator = '', rest = ''] =
    /^(\w+)(:-|:\?|)([\s\S]*)$/.exec(text.slice(start + 2, end)) ?? [];
  if (name === '') throw new Error(`cannot read ${text.slice(start, end + 1)}`);
  const value = variables[name] ?? '';
  if (value === '' && operator === ':?') throw new Error(`required variable ${name} is not set: ${rest}`);
  const filled = value === '' && operator === ':-' ? interpolate(rest, variables) : value;
  return text.slice(0, start) + filled + interpolate(text.slice(end + 1), variables);
}

/** The services of docker-compose.yml, with these variables in `.env`. */
export async function readComposeFile(
  variables: Readonly<Record<string, string>>,
): Promise<readonly ComposeService[]> {
  const text = await readFile(join(root, 'docker-compose.yml'), 'utf8');
  const { services } = parse(text, { merge: true }) as { services: Readonly<Record<string, WrittenService>> };
  return Object.entries(services).map(
    ([name, { profiles = [], command = [], environment = {}, ports = [] }]) => ({
      name,
      profiles,
      command: (typeof command === 'string' ? command.split(' ') : command).map((word) =>
        interpolate(word, variables),
      ),
      environment: Object.fromEntries(
        Object.entries(environment).map(([key, value]) => [key, interpolate(String(value), variables)]),
      ),
      ports: ports.map((published) => Number(published.split(':').at(-1))),
    }),
  );
}
