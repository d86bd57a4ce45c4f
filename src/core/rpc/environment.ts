import { Environment as EnvironmentMessage } from '../../gen/gatehouse/v1/order_pb.js';
import type { Issue } from '../domain/issue.ts';
import type { Environment } from '../domain/order.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';

/** The contract's number for an environment. */
export const environmentNumbers = {
  SANDBOX: EnvironmentMessage.SANDBOX,
  PRODUCTION: EnvironmentMessage.PRODUCTION,
} as const satisfies Record<Environment, EnvironmentMessage>;

/** The environment in a request. Issue: absent, or unknown to this version. */
export function parseEnvironment(number: EnvironmentMessage): Result<Environment, Issue> {
  switch (number) {
    case EnvironmentMessage.SANDBOX:
      return ok('SANDBOX');
    case EnvironmentMessage.PRODUCTION:
      return ok('PRODUCTION');
    default:
      return err({ field: 'environment', issue: 'must be SANDBOX or PRODUCTION' });
  }
}

/** As `parseEnvironment`, but absent means both environments. */
export function parseOptionalEnvironment(number: EnvironmentMessage): Result<Environment | undefined, Issue> {
  return number === EnvironmentMessage.UNSPECIFIED ? ok(undefined) : parseEnvironment(number);
}
