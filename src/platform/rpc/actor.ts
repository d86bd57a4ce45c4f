import type { HandlerContext } from '@connectrpc/connect';
import { callerOf } from './call-context.ts';

/** The actor of a change and the request id, for the audit log. */
export interface Actor {
  readonly actor: string;
  readonly requestId: string;
}

/** The role of the caller and, if the client names one, the person for whom it acts. */
export function actorOf(context: HandlerContext): Actor {
  const { role, actor, requestId } = callerOf(context);
  return { actor: actor === '' ? role : `${role}:${actor}`, requestId };
}
