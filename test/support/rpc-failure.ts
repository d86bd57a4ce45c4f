import { Code, ConnectError } from '@connectrpc/connect';
import {
  BadRequestSchema,
  ErrorInfoSchema,
  RetryInfoSchema,
} from '../../src/gen/google/rpc/error_details_pb.js';

export interface RpcFailure {
  readonly code: keyof typeof Code;
  readonly reason: string | undefined;
  /** The problem of each field. */
  readonly issues: Readonly<Record<string, string>>;
}

/** The failure of a call that must fail. */
export async function failureOf(call: Promise<unknown>): Promise<RpcFailure> {
  try {
    await call;
  } catch (error) {
    if (error instanceof ConnectError) return describeFailure(error);
    throw error;
  }
  throw new Error('the call succeeded');
}

/** The reason for which a call was refused. */
export const refusalOf = async (call: Promise<unknown>): Promise<string | undefined> =>
  (await failureOf(call)).reason;

/** 'done', or the reason for which the call was refused. */
export const outcomeOf = (call: Promise<unknown>): Promise<string | undefined> =>
  call.then(
    () => 'done',
    () => refusalOf(call),
  );

/** More calls at once than these cores execute and queue, with their outcomes. */
export const flood = (call: (index: number) => Promise<unknown>, cores = 2): Promise<string | undefined>[] =>
  Array.from({ length: 125 * cores }, (_, index) => outcomeOf(call(index)));

/** The wait in seconds that a refusal states; undefined when it states none. */
export async function waitAskedFor(call: Promise<unknown>): Promise<number | undefined> {
  const error = await call.catch((thrown: unknown) => thrown);
  if (!(error instanceof ConnectError)) return undefined;
  const [retry] = error.findDetails(RetryInfoSchema);
  return retry?.retryDelay === undefined ? undefined : Number(retry.retryDelay.seconds);
}

/** The fields for which a call was refused as INVALID_FIELDS, in alphabetical order with spaces between. */
export async function wrongFields(call: Promise<unknown>): Promise<string> {
  const { code, reason, issues } = await failureOf(call);
  if (code !== 'InvalidArgument' || reason !== 'INVALID_FIELDS')
    throw new Error(`the call was refused with ${code} and the reason ${reason}`);
  return Object.keys(issues).sort().join(' ');
}

export function describeFailure(error: ConnectError): RpcFailure {
  const [info] = error.findDetails(ErrorInfoSchema);
  const violations = error.findDetails(BadRequestSchema).flatMap(({ fieldViolations }) => fieldViolations);
  const issues = Object.fromEntries(violations.map(({ field, description }) => [field, description]));
  return { code: Code[error.code] as keyof typeof Code, reason: info?.reason, issues };
}
