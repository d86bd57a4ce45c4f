import type { HandlerContext } from '@connectrpc/connect';
import { isPublicId } from '../../contract/public-id.ts';
import { actorOf } from '../../platform/rpc/actor.ts';
import { callerOf } from '../../platform/rpc/call-context.ts';
import { notAnOperator } from './require-operator.ts';
import type { ActingOperator } from './require-operator.ts';

/** The operator who makes a call. Only calls of the dashboard prove the user. @throws NOT_AN_OPERATOR */
export function actingOperatorOf(context: HandlerContext): ActingOperator {
  const { role, actor } = callerOf(context);
  if (role !== 'dashboard') return { by: actorOf(context), userId: undefined };
  if (!isPublicId('usr', actor)) throw notAnOperator();
  return { by: actorOf(context), userId: actor };
}
