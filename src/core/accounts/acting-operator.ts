import type { HandlerContext } from '@connectrpc/connect';
import { isPublicId } from '../../contract/public-id.ts';
import { actorOf } from '../../platform/rpc/actor.ts';
import { callerOf } from '../../platform/rpc/call-context.ts';
import { notAnOperator } from './require-operator.ts';
import type { ActingOperator } from './require-operator.ts';

/** The operator behind a call. Only the dashboard proves who it is. @throws NOT_AN_OPERATOR */
export function actingOperatorOf(context: HandlerContext): ActingOperator {
  const { role, actor } = callerOf(context);
  if (role !== 'dashboard') return { by: actorOf(context), userId: undefined };
  if (!isPublicId('usr', actor)) throw notAnOperator();
  return { by: actorOf(context), userId: actor };
}
