import type { FastifyRequest } from 'fastify';
import { Environment } from '../../gen/gatehouse/v1/order_pb.js';
import type { Role, Viewer } from './viewer.ts';

/** Where on the dashboard somebody is: at a merchant, and in one of its environments where there are two. */
export interface Place {
  readonly merchantId: string;
  readonly merchantName: string;
  readonly environment: EnvironmentName | undefined;
  /** What they are there; an operator looks on, and changes what only operators may. */
  readonly role: Role | 'operator';
}

export type EnvironmentName = 'sandbox' | 'production';

export const isEnvironmentName = (text: string): text is EnvironmentName =>
  text === 'sandbox' || text === 'production';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who has signed in; null before. */
    viewer: Viewer | null;
    /** Where they are; null away from merchants. */
    place: Place | null;
  }
}

/** Who has signed in, on a route that lets nobody else in. */
export function viewerOf({ viewer }: FastifyRequest): Viewer {
  if (viewer === null) throw new TypeError('asked for the viewer on a route that is open to everyone');
  return viewer;
}

/** The merchant of a route below `/m/:merchantId`. */
export function placeOf({ place }: FastifyRequest): Place {
  if (place === null) throw new TypeError('asked for the merchant on a route without one');
  return place;
}

/** The merchant and environment of a route below `/m/:merchantId/:environment`, as RPCs take them. */
export function scopeOf(request: FastifyRequest): { merchantId: string; environment: Environment } {
  const { merchantId, environment } = placeOf(request);
  if (environment === undefined) throw new TypeError('asked for the environment on a route without one');
  return {
    merchantId,
    environment: environment === 'sandbox' ? Environment.SANDBOX : Environment.PRODUCTION,
  };
}

/** Where a page of the place is: `pathIn(placeOf(request), 'keys')`. Without a path, the home of the environment. */
export function pathIn({ merchantId, environment }: Place, path = ''): string {
  const parts = ['/m', merchantId, ...(environment === undefined ? [] : [environment])];
  return [...parts, ...(path === '' ? [] : [path])].join('/');
}
