import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';

const root = resolve(import.meta.dirname, '../..');

/** The files that `docker compose` reads in their order, from the root of the project. */
export const composeFiles = ['docker-compose.yml'];
export const composeFilesWithTls = [...composeFiles, 'docker-compose.tls.yml'];

/** A service of docker-compose.yml, as `docker compose` would start it. */
export interface ComposeService {
  readonly name: string;
  readonly image: string;
  readonly profiles: readonly string[];
  /** The words of its entry point; empty for that of its image. */
  readonly entrypoint: readonly string[];
  /** The words of its command; empty for that of its image. */
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** The ports that it publishes, by their numbers in the container. */
  readonly ports: readonly number[];
  /** The folders of the container that volumes and folders of the project are mounted at. */
  readonly mounts: readonly string[];
  /** By mount point, the name of a volume or a folder of the project. */
  readonly sources: Readonly<Record<string, string>>;
  /** The words of its health check; empty for that of its image, undefined for none. */
  readonly healthcheck: readonly string[] | undefined;
  /** The services that must be there first. */
  readonly after: readonly string[];
  readonly isScaledToNone: boolean;
  /** The settings of its protection and its logs, as written. */
  readonly written: Readonly<Record<string, unknown>>;
}

interface WrittenService {
  readonly image?: string;
  readonly profiles?: readonly string[];
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string | number>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly (string | { readonly source: string; readonly target: string })[];
  readonly healthcheck?: { readonly test?: readonly string[]; readonly disable?: boolean };
  readonly depends_on?: Readonly<Record<string, unknown>>;
  readonly scale?: string;
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
 * A value with its `${NAME}`, `${NAME:-default}` and `${NAME:?message}` replaced, and `$$` as one `$`, as Compose does.
 * @throws Error when a required variable is not set
 */
function interpolate(text: string, variables: Readonly<Record<string, string>>): string {
  const escaped = text.indexOf('$$');
  if (escaped >= 0)
    return `${interpolate(text.slice(0, escaped), variables)}$${interpolate(text.slice(escaped + 2), variables)}`;
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

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** As Compose merges a later file into an earlier one: mappings by key, lists by appending, but not the words of a command. */
function merge(earlier: unknown, later: unknown, key = ''): unknown {
  if (Array.isArray(earlier) && Array.isArray(later))
    return ['command', 'entrypoint', 'test'].includes(key) ? later : [...earlier, ...later];
  if (!isObject(earlier) || !isObject(later)) return later;
  const changed = Object.entries(later).map(([name, value]) => [name, merge(earlier[name], value, name)]);
  return { ...earlier, ...Object.fromEntries(changed) };
}

/** The content of the files, with these variables in `.env`. */
export async function readComposeDocument(
  variables: Readonly<Record<string, string>>,
  files: readonly string[] = composeFiles,
): Promise<{ readonly services: Readonly<Record<string, object>> }> {
  const texts = await Promise.all(files.map((file) => readFile(join(root, file), 'utf8')));
  const fill = (value: unknown): unknown => {
    if (typeof value === 'string') return interpolate(value, variables);
    if (Array.isArray(value)) return value.map(fill);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, fill(each)]));
  };
  const documents = texts.map((text) => fill(parse(text, { merge: true })));
  return documents.reduce((earlier, later) => merge(earlier, later)) as {
    services: Readonly<Record<string, object>>;
  };
}

/** Its services. */
export async function readComposeFile(
  variables: Readonly<Record<string, string>>,
  files: readonly string[] = composeFiles,
): Promise<readonly ComposeService[]> {
  const { services } = await readComposeDocument(variables, files);
  const volumesOf = ({ volumes = [] }: WrittenService) =>
    volumes.map((volume) => {
      if (typeof volume !== 'string') return [volume.target, volume.source] as const;
      const [source = '', target = ''] = volume.split(':');
      return [target, source] as const;
    });
  return Object.entries(services as Readonly<Record<string, WrittenService>>).map(([name, service]) => ({
    name,
    image: service.image ?? '',
    profiles: service.profiles ?? [],
    entrypoint: service.entrypoint ?? [],
    command: service.command ?? [],
    environment: Object.fromEntries(
      Object.entries(service.environment ?? {}).map(([key, value]) => [key, String(value)]),
    ),
    ports: (service.ports ?? []).map((published) => Number.parseInt(published.split(':').at(-1) ?? '')),
    mounts: volumesOf(service).map(([target]) => target),
    sources: Object.fromEntries(volumesOf(service)),
    healthcheck:
      service.healthcheck?.disable === true ? undefined : (service.healthcheck?.test ?? []).slice(1),
    after: Object.keys(service.depends_on ?? {}),
    isScaledToNone: service.scale === '0',
    written: { ...service },
  }));
}

/** The section of docs/operating/running.md about containers. */
export async function readContainersSection(): Promise<string> {
  const page = await readFile(join(root, 'docs/operating/running.md'), 'utf8');
  return page.slice(page.indexOf('### Containers'));
}
