import { Code } from '@connectrpc/connect';

/** How an error of one reason is answered when nobody says otherwise: its status in gRPC, and over HTTP. */
export interface ReasonStatus {
  readonly code: Code;
  readonly httpStatus: number;
}

/** The statuses that reasons come under. The HTTP statuses are those that google.rpc.Code names, but for a conflict. */
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
  unavailable: { code: Code.Unavailable, httpStatus: 503 },
  deadlineExceeded: { code: Code.DeadlineExceeded, httpStatus: 504 },
} as const satisfies Record<string, ReasonStatus>;

/** The reasons for which a server refuses a call, or cannot answer it, whatever the call is about. */
export const platformReasons = {
  INVALID_FIELDS: statuses.invalidArgument,
  INVALID_SERVICE_TOKEN: statuses.unauthenticated,
  ROLE_NOT_ALLOWED: statuses.permissionDenied,
  SYMBOL_NOT_FOUND: statuses.notFound,
  OVERLOADED: statuses.resourceExhausted,
  CALL_CANCELLED: statuses.cancelled,
  DEADLINE_EXCEEDED: statuses.deadlineExceeded,
  DATABASE_UNAVAILABLE: statuses.unavailable,
  SERVER_DRAINING: statuses.unavailable,
  INTERNAL: statuses.internal,
} as const satisfies Record<string, ReasonStatus>;
