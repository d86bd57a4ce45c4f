import type { Pool, PoolClient } from 'pg';
import type { NewId } from '../../contract/public-id.ts';
import { inTransaction } from '../../platform/database/in-transaction.ts';
import type { Actor } from '../../platform/rpc/actor.ts';
import { recordAudit } from '../audit/record-audit.ts';
import { pauseLane, resumeLane } from '../delivery/pause-lane.ts';
import { endpointOf } from '../domain/delivery.ts';
import type { Environment, LaneKey, SecretOwner } from '../domain/delivery.ts';
import { changeTypes, maxWebhookEndpoints } from '../domain/webhook-endpoint.ts';
import type { SubscribedType } from '../domain/webhook-endpoint.ts';
import type { SigningSecrets } from '../secrets/signing-secrets.ts';
import {
  endpointOfRow,
  findWebhookEndpoint,
  insertWebhookEndpoint,
  listWebhookEndpoints,
  lockEndpointsOf,
  lockWebhookEndpoint,
  markDeleted,
  writeWebhookEndpoint,
} from './webhook-endpoint-rows.sql.ts';
import type { EndpointKey, WebhookEndpoint, WebhookEndpointRow } from './webhook-endpoint-rows.sql.ts';

export interface NewWebhookEndpoint {
  readonly merchantId: string;
  readonly environment: Environment;
  readonly url: string;
  readonly description: string;
  /** Empty: every type. */
  readonly eventTypes: readonly SubscribedType[];
  readonly withoutSecret: boolean;
}

/** A change of a webhook endpoint. Undefined fields keep their value. */
export interface EndpointChange {
  readonly url: string | undefined;
  readonly description: string | undefined;
  /** Empty: every type. */
  readonly eventTypes: readonly SubscribedType[] | undefined;
}

/** The merchant has another endpoint with the URL in the environment. */
export interface UrlTaken {
  readonly type: 'url_taken';
  readonly endpointId: string;
}

export type Created =
  | { readonly type: 'created'; readonly endpoint: WebhookEndpoint; readonly secret: string }
  | { readonly type: 'too_many' }
  | UrlTaken;

export type Updated = { readonly type: 'updated'; readonly endpoint: WebhookEndpoint } | UrlTaken;

/** The webhook endpoints of merchants. Every change has an entry in the audit log. Undefined means that there is no such endpoint. */
export interface WebhookEndpoints {
  /** Sandbox before production, each oldest first. */
  readonly list: (merchantId: string, environment: Environment | undefined) => Promise<WebhookEndpoint[]>;
  readonly find: (key: EndpointKey) => Promise<WebhookEndpoint | undefined>;
  /** Every event that is committed from now on is delivered to it. `secret` is empty when none was wanted. */
  readonly create: (wanted: NewWebhookEndpoint, by: Actor) => Promise<Created>;
  /** Pending deliveries go to the new URL. */
  readonly update: (key: EndpointKey, change: EndpointChange, by: Actor) => Promise<Updated | undefined>;
  readonly pause: (key: EndpointKey, reason: string, by: Actor) => Promise<WebhookEndpoint | undefined>;
  readonly resume: (key: EndpointKey, by: Actor) => Promise<WebhookEndpoint | undefined>;
  /** Its pending deliveries are abandoned by `abandonDeleted`. */
  readonly delete: (key: EndpointKey, by: Actor) => Promise<WebhookEndpoint | undefined>;
}

export interface WebhookEndpointsParts {
  readonly pool: Pool;
  readonly secrets: Pick<SigningSecrets, 'createFirst' | 'removeAll'>;
  readonly newId: NewId;
  readonly now: () => Date;
}

export const laneOfEndpoint = ({
  merchantId,
  environment,
  id,
}: Pick<WebhookEndpoint, 'merchantId' | 'environment' | 'id'>): LaneKey => ({
  merchantId,
  environment,
  endpoint: id,
});

export const secretOwnerOfEndpoint = ({
  merchantId,
  environment,
  id,
}: Pick<WebhookEndpoint, 'merchantId' | 'environment' | 'id'>): SecretOwner => ({
  merchantId,
  environment,
  endpointId: id,
});

export function createWebhookEndpoints({
  pool,
  secrets,
  newId,
  now,
}: WebhookEndpointsParts): WebhookEndpoints {
  const record = (
    client: PoolClient,
    row: Pick<WebhookEndpoint, 'merchantId' | 'id' | 'environment' | 'url'>,
    { action, by, details = {} }: Recorded,
  ): Promise<void> =>
    recordAudit(client, newId, now(), by, {
      action: `webhook_endpoint.${action}`,
      merchantId: row.merchantId,
      targetId: row.id,
      details: { environment: row.environment, endpoint: endpointOf(row.url), ...details },
    });
  /** Changes an endpoint that exists, in a transaction that holds its lock. */
  const change = <Result>(
    key: EndpointKey,
    work: (client: PoolClient, row: WebhookEndpointRow) => Promise<Result>,
  ): Promise<Result | undefined> =>
    inTransaction(pool, [], async (client) => {
      const row = await lockWebhookEndpoint(client, key);
      return row === undefined ? undefined : work(client, row);
    });

  return {
    list: (merchantId, environment) => listWebhookEndpoints(pool, merchantId, environment),
    async find(key) {
      const row = await findWebhookEndpoint(pool, key);
      return row && endpointOfRow(row);
    },

    create: ({ merchantId, environment, url, description, eventTypes, withoutSecret }, by) =>
      inTransaction(pool, [], async (client): Promise<Created> => {
        const others = await lockEndpointsOf(client, merchantId, environment);
        const same = others.find((other) => other.url === url);
        if (same !== undefined) return { type: 'url_taken', endpointId: same.id };
        if (others.length >= maxWebhookEndpoints) return { type: 'too_many' };
        const at = now();
        const row: WebhookEndpointRow = {
          merchantId,
          id: newId('whe', at),
          environment,
          url,
          description,
          since: changeTypes(new Map(), eventTypes, at),
          createdAt: at,
          updatedAt: at,
        };
        await insertWebhookEndpoint(client, row);
        await record(client, row, { action: 'create', by, details: { event_types: typesText(eventTypes) } });
        const secret = withoutSecret
          ? ''
          : (await secrets.createFirst(client, secretOwnerOfEndpoint(row), by)).text;
        return { type: 'created', endpoint: endpointOfRow(row), secret };
      }),

    update: async (key, { url, description, eventTypes }, by) => {
      const found = url === undefined ? undefined : await findWebhookEndpoint(pool, key);
      return inTransaction(pool, [], async (client): Promise<Updated | undefined> => {
        // In the order of `create`: first the merchant's endpoints, then this one.
        if (found !== undefined) {
          const others = await lockEndpointsOf(client, key.merchantId, found.environment);
          const same = others.find((other) => other.url === url && other.id !== key.endpointId);
          if (same !== undefined) return { type: 'url_taken', endpointId: same.id };
        }
        const row = await lockWebhookEndpoint(client, key);
        if (row === undefined) return undefined;
        const at = now();
        const changed = {
          ...row,
          url: url ?? row.url,
          description: description ?? row.description,
          since: eventTypes === undefined ? row.since : changeTypes(row.since, eventTypes, at),
          updatedAt: at,
        };
        await writeWebhookEndpoint(client, changed);
        const endpoint = endpointOfRow(changed);
        await record(client, changed, {
          action: 'update',
          by,
          details: { event_types: typesText(endpoint.eventTypes) },
        });
        return { type: 'updated', endpoint };
      });
    },

    pause: (key, reason, by) =>
      change(key, async (client, row) => {
        await pauseLane(client, laneOfEndpoint(row), reason === '' ? `${by.actor} gave no reason` : reason);
        await record(client, row, { action: 'pause', by, details: { reason } });
        return endpointOfRow(row);
      }),
    resume: (key, by) =>
      change(key, async (client, row) => {
        await resumeLane(client, laneOfEndpoint(row));
        await record(client, row, { action: 'resume', by });
        return endpointOfRow(row);
      }),
    delete: (key, by) =>
      change(key, async (client, row) => {
        await markDeleted(client, key, now());
        await pauseLane(client, laneOfEndpoint(row), 'the webhook endpoint was deleted');
        await secrets.removeAll(client, secretOwnerOfEndpoint(row));
        await record(client, row, { action: 'delete', by });
        return endpointOfRow(row);
      }),
  };
}

interface Recorded {
  readonly action: 'create' | 'update' | 'pause' | 'resume' | 'delete';
  readonly by: Actor;
  readonly details?: Readonly<Record<string, string>>;
}

const typesText = (types: readonly SubscribedType[]): string =>
  types.length === 0 ? 'all' : types.join(', ');
