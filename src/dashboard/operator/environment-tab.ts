import type { FastifyRequest } from 'fastify';
import type { Panel } from '../try-call.ts';
import { environmentOf, isEnvironmentGiven } from './operator-writing.ts';

type AskedEnvironment = ReturnType<typeof environmentOf>;

/**
 * Selects the environment that a page shows: the one in its query, else production. It is the sandbox while only the sandbox
 * has items.
 */
export async function loadTab<T>(
  request: FastifyRequest,
  load: (environment: AskedEnvironment) => Promise<Panel<T>>,
  isEmpty: (value: T) => boolean,
): Promise<{ readonly environment: AskedEnvironment; readonly shown: Panel<T> }> {
  const environment = environmentOf(request);
  const shown = await load(environment);
  if (isEnvironmentGiven(request) || !shown.isThere || !isEmpty(shown.value)) return { environment, shown };
  const sandbox = environmentOf({ query: { environment: 'sandbox' } });
  const instead = await load(sandbox);
  return instead.isThere && !isEmpty(instead.value)
    ? { environment: sandbox, shown: instead }
    : { environment, shown };
}
