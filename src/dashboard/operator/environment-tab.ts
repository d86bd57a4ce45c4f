import type { FastifyRequest } from 'fastify';
import type { Panel } from '../ask.ts';
import { environmentOf, isEnvironmentGiven } from './operator-writing.ts';

type AskedEnvironment = ReturnType<typeof environmentOf>;

/**
 * What a page shows of one environment: of the one that is asked for, else of production, or of the sandbox as long as
 * only the sandbox has something.
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
