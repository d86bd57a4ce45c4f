import type { FastifyRequest } from 'fastify';
import type { CarriedForm } from '../session/session-data.ts';
import { fieldsOf } from './read-form.ts';

/** Far less than a session holds. */
const mostCharacters = 8_000;

/** What is never kept anywhere: its sender types it again. */
const isPrivate = (name: string): boolean => /password|secret|code|token|_csrf/i.test(name);

/** The form of a request that cannot be taken yet; undefined when it is too large to keep. */
export function carriedFormOf(request: FastifyRequest): CarriedForm | undefined {
  const form = {
    action: request.url,
    fields: fieldsOf(request.body)
      .filter(([name]) => !isPrivate(name))
      .map(([name, value]): [string, string] => [name, value]),
  };
  return JSON.stringify(form).length > mostCharacters ? undefined : form;
}

/** A path of ours to go to, from what a browser brings; undefined for every other text. */
export function ownPath(text: unknown): string | undefined {
  // Browsers read a backslash as a slash, and take tabs and line ends out.
  return typeof text === 'string' && /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]{0,1000}$/.test(text)
    ? text
    : undefined;
}
