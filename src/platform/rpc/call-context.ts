import type { DescMethod } from '@bufbuild/protobuf';
import { createContextKey } from '@connectrpc/connect';
import type { ConnectError, HandlerContext } from '@connectrpc/connect';
import type { Span } from '../tracing/span.ts';

/** The facts about a call that its handler may use. */
export type CallContext = Pick<
  HandlerContext,
  'method' | 'protocolName' | 'service' | 'signal' | 'timeoutMs' | 'values'
>;

/** The caller of a call, and the id of the call in the logs. */
export interface Caller {
  /** The role of its service token; 'anyone' without one. */
  readonly role: string;
  /** The person for whom the client acts, if it names one; for the audit log. */
  readonly actor: string;
  readonly requestId: string;
}

const anonymous: Caller = { role: 'anyone', actor: '', requestId: '' };

/** Set before a handler runs. */
export const callerKey = createContextKey<Caller>(anonymous, { description: 'caller' });

/** Fields that a handler adds to the log line of its call. */
export const logFieldsKey = createContextKey<Record<string, unknown>>({}, { description: 'log fields' });

/** Whether a successful call is not worth a log line, such as a poll that finds no work. */
export const uneventfulKey = createContextKey(false, { description: 'uneventful' });

/** Logs the call at level debug if it succeeds. */
export const markUneventful = (context: CallContext): void => void context.values.set(uneventfulKey, true);

/** The unexpected error of one item of a batch. The call succeeds, and is logged and measured like one that failed with this error. */
export const failedItemKey = createContextKey<ConnectError | undefined>(undefined, {
  description: 'failed item',
});

/** The span of a call; undefined while tracing is off, and for the calls of streams themselves. */
export const spanKey = createContextKey<Span | undefined>(undefined, { description: 'span' });

export const callerOf = (context: CallContext): Caller => context.values.get(callerKey);

/** Adds fields to the call's log line. They must not contain secrets or unmasked phone numbers. */
export function annotate(context: CallContext, fields: Readonly<Record<string, unknown>>): void {
  Object.assign(context.values.get(logFieldsKey), fields);
}

/** A call that arrived as one message on a stream. */
export interface InnerCall {
  /** The method of the equivalent unary call. */
  readonly method: DescMethod;
  /** The request id for the log. If it is not usable, the log has the stream's id. */
  readonly requestId: string;
  /** The W3C traceparent of the message, if it has one. */
  readonly traceparent: string;
  readonly timeoutMs: number;
}

/** Answers a message of a stream like a call, with a deadline, a log line, and a reason for every error. */
export type AnswerWithin = <Response>(
  call: InnerCall,
  handle: (context: CallContext) => Promise<Response>,
) => Promise<Response>;

/** Set for streams before their handler runs. */
export const answerWithinKey = createContextKey<AnswerWithin>(
  () => Promise.reject(new Error('this call is not a stream, so it has no inner calls')),
  { description: 'answer within' },
);
