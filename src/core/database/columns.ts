import { p } from '@mikro-orm/core';
import type { IdPrefix, StoredId } from '../../contract/public-id.ts';
import type { Environment } from '../domain/order.ts';

/* Columns that several tables have. Each call makes new ones, because a column belongs to one entity. */

export const schema = 'core';
export const time = () => p.datetime(3);
export const idOf = <P extends IdPrefix>() => p.uuid().$type<StoredId<P>>();
export const environment = () => p.string().columnType('core.environment').$type<Environment>();

/** The columns of work that a worker leases: its due time, and its lease with the expiry. */
export const leaseColumns = () => ({
  dueAt: time().nullable(),
  leasedUntil: time().nullable(),
  leaseId: p.uuid().nullable(),
});

/** The columns of a request to return money: the wallet's answers, and the lease of the worker that sends it. */
export const returnColumns = () => ({
  detail: p.text(),
  refusalReason: p.text().default(''),
  tries: p.integer(),
  maybeSent: p.boolean(),
  askedSince: time().nullable(),
  providerReference: p.text().nullable(),
  /** The notes of callbacks about the request, oldest first, for later queries. */
  callbackNotes: p.array().columnType('text[]').$type<string[]>().default([]),
  ...leaseColumns(),
  /** The time at which a hint that arrived under the lease makes the request due; null without a hint. */
  hastenedTo: time().nullable(),
});
