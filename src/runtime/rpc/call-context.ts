import { createContextKey } from '@connectrpc/connect';
import type { HandlerContext } from '@connectrpc/connect';
import type { Role } from './service-tokens.ts';

/** Who makes a call and under which name it is in the logs. */
export interface Caller {
  readonly role: Role | 'anyone';
  /** The person behind the call, when the client says so; for the audit log. */
  readonly actor: string;
  readonly requestId: string;
}

/** Whether a text can be written into logs and headers as the id of a request. */
export const isRequestId = (text: string): boolean => /^[\w.-]{1,64}$/.test(text);

const nobody: Caller = { role: 'anyone', actor: '', requestId: '' };

/** Set before a handler runs. */
export const callerKey = createContextKey<Caller>(nobody, { description: 'caller' });

/** Fields that a handler adds to the one line its call leaves in the log. */
export const logFieldsKey = createContextKey<Record<string, unknown>>({}, { description: 'log fields' });

/** Whether a call that went well is nothing to tell of: one that looks for work, say, and finds none. */
export const uneventfulKey = createContextKey(false, { description: 'uneventful' });

/** Has the call's log line written at debug when it goes well. */
export const markUneventful = (context: HandlerContext): void => void context.values.set(uneventfulKey, true);

export const callerOf = (context: HandlerContext): Caller => context.values.get(callerKey);

/** Adds to the call's log line. Never phones unmasked, never secrets. */
export function annotate(context: HandlerContext, fields: Readonly<Record<string, unknown>>): void {
  Object.assign(context.values.get(logFieldsKey), fields);
}
