import { create } from '@bufbuild/protobuf';
import { anyPack } from '@bufbuild/protobuf/wkt';
import type { DescMessage, MessageInitShape } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from '../../gen/google/rpc/error_details_pb.js';
import { StatusSchema } from '../../gen/google/rpc/status_pb.js';
import type { Status } from '../../gen/google/rpc/status_pb.js';
import { platformReasons } from './error-reason.ts';
import type { ReasonStatus } from './error-reason.ts';
import { encodeMessage } from './message-bytes.ts';

const errorDomain = 'gatehouse';

/** The code as log lines, metrics and spans name it, such as `not_found`. */
export const nameOfCode = (code: Code): string =>
  Code[code].replace(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase();

export interface RpcErrorDetails {
  /** All problems with the request's fields. */
  readonly issues?: readonly { readonly field: string; readonly issue: string }[];
  /** The time to wait before a retry. */
  readonly retryAfterMs?: number;
  /** Facts for programs, as ErrorInfo.metadata. They are safe to show. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** The internal cause, for the log only. It is never sent. */
  readonly cause?: unknown;
}

/** A constructor for errors with these reasons. Each has a reason, a message that is safe to show, and a private cause. */
export const errorsOf =
  <Reason extends string>(reasons: Readonly<Record<Reason, ReasonStatus>>) =>
  (reason: Reason, message: string, details: RpcErrorDetails = {}): ConnectError => {
    const sent: { desc: DescMessage; value: MessageInitShape<DescMessage> }[] = [
      {
        desc: ErrorInfoSchema,
        value: create(ErrorInfoSchema, { reason, domain: errorDomain, metadata: { ...details.metadata } }),
      },
    ];
    if (details.issues !== undefined) {
      const fieldViolations = details.issues.map(({ field, issue }) => ({ field, description: issue }));
      sent.push({ desc: BadRequestSchema, value: create(BadRequestSchema, { fieldViolations }) });
    }
    if (details.retryAfterMs !== undefined) {
      const seconds = BigInt(Math.floor(details.retryAfterMs / 1000));
      const nanos = (details.retryAfterMs % 1000) * 1_000_000;
      sent.push({
        desc: RetryInfoSchema,
        value: create(RetryInfoSchema, { retryDelay: { seconds, nanos } }),
      });
    }
    return new ConnectError(message, reasons[reason].code, undefined, sent, details.cause);
  };

/** An error that can occur in any call. */
export const rpcError = errorsOf(platformReasons);

/**
 * More than any form has. Details of 80 kB are too large for the HTTP/2 of the caller, which closes the connection with all of its calls.
 */
const maxIssues = 50;

/** INVALID_ARGUMENT with the first 50 issues in a google.rpc.BadRequest. The message says how many more there are. */
export function invalidFields(
  all: readonly { readonly field: string; readonly issue: string }[],
): ConnectError {
  const issues = all.slice(0, maxIssues);
  const others = all.length - issues.length;
  const named = [
    ...issues.map(({ field, issue }) => `${field} ${issue}`),
    ...(others > 0 ? [`and ${others} more`] : []),
  ].join('; ');
  return rpcError('INVALID_FIELDS', named, { issues });
}

/** The reason of an error that was created here or received; undefined when it has none of our reasons. */
export function reasonOf(error: ConnectError): string | undefined {
  for (const detail of error.details) {
    if ('desc' in detail && detail.desc.typeName === ErrorInfoSchema.typeName) {
      return create(ErrorInfoSchema, detail.value as MessageInitShape<typeof ErrorInfoSchema>).reason;
    }
  }
  return error.findDetails(ErrorInfoSchema).find((info) => info.domain === errorDomain)?.reason;
}

/** The retry delay in a received error, in whole seconds, at least 1; undefined when it has none. */
export function retryAfterSecondsOf(error: ConnectError): number | undefined {
  const delay = error.findDetails(RetryInfoSchema)[0]?.retryDelay;
  return delay && Math.max(1, Number(delay.seconds) + (delay.nanos > 0 ? 1 : 0));
}

/** The error as a google.rpc.Status, for batch results and gRPC trailers. */
export function toStatus(error: ConnectError): Status {
  const details = error.details.map((detail) =>
    'desc' in detail
      ? anyPack(detail.desc, create(detail.desc, detail.value))
      : { typeUrl: `type.googleapis.com/${detail.type}`, value: detail.value },
  );
  return create(StatusSchema, { code: error.code, message: error.rawMessage, details });
}

/** The error of a google.rpc.Status. */
export function fromStatus(status: Status): ConnectError {
  const error = new ConnectError(status.message, status.code);
  error.details = status.details.map(({ typeUrl, value }) => ({
    type: typeUrl.slice(typeUrl.lastIndexOf('/') + 1),
    value,
  }));
  return error;
}

/** The bytes of the `grpc-status-details-bin` trailer. */
export const encodeStatus = (status: Status): Buffer => encodeMessage(StatusSchema, status);
