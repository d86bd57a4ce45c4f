import { ConnectError, Code, createContextValues } from '@connectrpc/connect';
import { answerCall, unlessAborted } from './answer-call.ts';
import type { AnswerOptions } from './answer-call.ts';
import { isRequestId } from '../request-id.ts';
import { callerKey, callerOf, logFieldsKey } from './call-context.ts';
import { inCallSpan } from './call-span.ts';
import type { AnswerWithin, CallContext } from './call-context.ts';

const timeIsOver = new ConnectError('the deadline of a call on a stream has passed', Code.DeadlineExceeded);

/** Answers calls that arrive as messages of an authenticated stream. Each is answered like a separate call. */
export function answerWithin(stream: CallContext, options: AnswerOptions): AnswerWithin {
  const caller = callerOf(stream);
  return async ({ method, requestId, traceparent, timeoutMs }, handle) => {
    const deadline = performance.now() + timeoutMs;
    const over = new AbortController();
    const leave = (): void => over.abort(stream.signal.reason);
    const timer = setTimeout(() => over.abort(timeIsOver), timeoutMs);
    if (stream.signal.aborted) leave();
    else stream.signal.addEventListener('abort', leave, { once: true });
    const values = createContextValues();
    values.set(callerKey, isRequestId(requestId) ? { ...caller, requestId } : caller);
    values.set(logFieldsKey, {});
    const context: CallContext = {
      service: method.parent,
      method,
      protocolName: stream.protocolName,
      signal: over.signal,
      timeoutMs: () => deadline - performance.now(),
      values,
    };
    try {
      return await answerCall(
        () => inCallSpan(context, traceparent, options, () => unlessAborted(() => handle(context), context)),
        context,
        options,
      );
    } finally {
      clearTimeout(timer);
      stream.signal.removeEventListener('abort', leave);
    }
  };
}
