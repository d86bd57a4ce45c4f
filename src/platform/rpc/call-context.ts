import type { DescMethod } from '@bufbuild/protobuf';
import { createContextKey } from '@connectrpc/connect';
import type { HandlerContext } from '@connectrpc/connect';

/** What a handler may know of the call it answers. */
export type CallContext = Pick<
  HandlerContext,
  'method' | 'protocolName' | 'service' | 'signal' | 'timeoutMs' | 'values'
>;

/** Who makes a call and under which name it is in the logs. */
export interface Caller {
  /** The role of its service token; 'anyone' without one. */
  readonly role: string;
  /** The person behind the call, when the client says so; for the audit log. */
  readonly actor: string;
  readonly requestId: string;
}

const nobody: Caller = { role: 'anyone', actor: '', requestId: '' };

/** Set before a handler runs. */
export const callerKey = createContextKey<Caller>(nobody, { description: 'caller' });

/** Fields that a handler adds to the one line its call leaves in the log. */
export const logFieldsKey = createContextKey<Record<string, unknown>>({}, { description: 'log fields' });

/** Whether a call that went well is nothing to tell of: one that looks for work, say, and finds none. */
export const uneventfulKey = createContextKey(false, { description: 'uneventful' });

/** Has the call's log line written at debug when it goes well. */
export const markUneventful = (context: CallContext): void => void context.values.set(uneventfulKey, true);

export const callerOf = (context: CallContext): Caller => context.values.get(callerKey);

/** Adds to the call's log line. Never phones unmasked, never secrets. */
export function annotate(context: CallContext, fields: Readonly<Record<string, unknown>>): void {
  Object.assign(context.values.get(logFieldsKey), fields);
}

/** A call that came as one message of many on a stream. */
export interface InnerCall {
  /** The method it stands for. */
  readonly method: DescMethod;
  /** Under which it is in the log; the stream's own when it is not usable. */
  readonly requestId: string;
  readonly timeoutMs: number;
}

/** Answers a message of a stream as a call: it has a deadline and a line in the log, and no error without a reason. */
export type AnswerWithin = <Response>(
  call: InnerCall,
  handle: (context: CallContext) => Promise<Response>,
) => Promise<Response>;

/** Set for streams before their handler runs. */
export const answerWithinKey = createContextKey<AnswerWithin>(
  () => Promise.reject(new Error('there are calls within streams only')),
  { description: 'answer within' },
);
