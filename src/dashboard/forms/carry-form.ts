import type { FastifyRequest } from 'fastify';
import { guardedPath } from '../access/guarded-path.ts';
import { isKept } from '../session/session-data.ts';
import type { CarriedForm } from '../session/session-data.ts';
import { fieldsOf } from './read-form.ts';

/** Fields that are never kept. The user enters them again. Data that is to be erased must not be stored once more. */
export const privateFields = /password|secret|code|token|_csrf|^erased_/i;

/** The form of a request that must wait for the sign-in; undefined when it is too large to keep. */
export function carriedFormOf(request: FastifyRequest): CarriedForm | undefined {
  const action = guardedPath(request.url, 'POST');
  if (action === undefined) return undefined;
  const form = {
    action,
    fields: fieldsOf(request.body)
      .filter(([name]) => !privateFields.test(name))
      .map(([name, value]): [string, string] => [name, value]),
  };
  return isKept(form) ? form : undefined;
}
