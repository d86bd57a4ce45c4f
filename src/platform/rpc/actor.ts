import type { HandlerContext } from '@connectrpc/connect';
import { callerOf } from './call-context.ts';

/** Who does something, under which request: for the audit log. */
export interface Actor {
  readonly actor: string;
  readonly requestId: string;
}

/** The role of the caller and, where the client names one, the person behind it. */
export function actorOf(context: HandlerContext): Actor {
  const { role, actor, requestId } = callerOf(context);
  return { actor: actor === '' ? role : `${role}:${actor}`, requestId };
}
