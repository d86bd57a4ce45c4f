import { Code } from '@connectrpc/connect';

/** The default statuses of an error reason, in gRPC and HTTP. */
export interface ReasonStatus {
  readonly code: Code;
  readonly httpStatus: number;
}

/** The possible statuses of a reason. The HTTP statuses are those of google.rpc.Code, except for a conflict. */
export const statuses = {
  invalidArgument: { code: Code.InvalidArgument, httpStatus: 400 },
  unauthenticated: { code: Code.Unauthenticated, httpStatus: 401 },
  permissionDenied: { code: Code.PermissionDenied, httpStatus: 403 },
  notFound: { code: Code.NotFound, httpStatus: 404 },
  alreadyExists: { code: Code.AlreadyExists, httpStatus: 409 },
  failedPrecondition: { code: Code.FailedPrecondition, httpStatus: 409 },
  aborted: { code: Code.Aborted, httpStatus: 409 },
  resourceExhausted: { code: Code.ResourceExhausted, httpStatus: 429 },
  cancelled: { code: Code.Canceled, httpStatus: 499 },
  internal: { code: Code.Internal, httpStatus: 500 },
  unimplemented: { code: Code.Unimplemented, httpStatus: 501 },
  unavailable: { code: Code.Unavailable, httpStatus: 503 },
  deadlineExceeded: { code: Code.DeadlineExceeded, httpStatus: 504 },
} as const satisfies Record<string, ReasonStatus>;

/** The reasons for which any call may be refused or fail. */
export const platformReasons = {
  INVALID_FIELDS: statuses.invalidArgument,
  INVALID_SERVICE_TOKEN: statuses.unauthenticated,
  INVALID_CLIENT_CERTIFICATE: statuses.unauthenticated,
  ROLE_NOT_ALLOWED: statuses.permissionDenied,
  SYMBOL_NOT_FOUND: statuses.notFound,
  NOT_IMPLEMENTED: statuses.unimplemented,
  // Waiting does not help.
  MESSAGE_TOO_LARGE: { ...statuses.resourceExhausted, httpStatus: 413 },
  OVERLOADED: statuses.resourceExhausted,
  CALL_CANCELLED: statuses.cancelled,
  DEADLINE_EXCEEDED: statuses.deadlineExceeded,
  DATABASE_UNAVAILABLE: statuses.unavailable,
  SERVER_DRAINING: statuses.unavailable,
  INTERNAL: statuses.internal,
} as const satisfies Record<string, ReasonStatus>;
