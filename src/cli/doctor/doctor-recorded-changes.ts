import { setTimeout as delay } from 'node:timers/promises';
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError } from '@connectrpc/connect';
import type { AuditEntry } from '../../gen/gatehouse/v1/audit_service_pb.js';
import { Environment } from '../../gen/gatehouse/v1/order_pb.js';
import type { WebhookEndpoint } from '../../gen/gatehouse/v1/webhook_endpoint_service_pb.js';
import { EndpointState } from '../../gen/gatehouse/v1/webhook_service_pb.js';
import { counted } from '../../contract/counted.ts';
import type { CoreClients } from '../core-clients.ts';
import { showTime } from '../time.ts';
import type { WebhookClients } from '../webhooks/webhook-clients.ts';
import type { Server } from '../rpc-failure.ts';
import { failedFinding } from './doctor-checks.ts';
import type { Finding } from './doctor-finding.ts';

export interface RecordedChangesParts {
  readonly core: Pick<CoreClients, 'audit'>;
  readonly webhooks: Pick<WebhookClients, 'webhooks' | 'webhookEndpoints'>;
  readonly address: string;
  /** The addresses of the cores. */
  readonly cores: readonly string[];
  readonly now: () => Date;
  /** How long a difference must last. Webhooks sends its changes to the audit log a moment after it made them. */
  readonly lastsMs?: number;
}

const dayMs = 24 * 60 * 60_000;
const daysCompared = 30;
/** `webhooks` deletes redeliveries that ended before its retention time, which is at least this. */
const retainedDays = 7;
const maxEntries = 500;
const maxMerchants = 100;
const maxShown = 5;
/** An update is recorded a moment after the time that it gives the endpoint. */
const toleranceMs = 10_000;

/**
 * Compares the latest changes of webhook endpoints and signing secrets, pauses and redeliveries in the audit log, which core stores, with the
 * state of `webhooks`. They differ if the database of `webhooks` alone was restored. Never rejects.
 */
export async function checkRecordedChanges(parts: RecordedChangesParts): Promise<Finding> {
  const found = { subject: `webhooks ${parts.address}`, check: 'recorded changes' };
  let asked = 'core' as Server;
  const compare = async (): Promise<readonly string[]> => {
    asked = 'core';
    const log = await readLog(parts);
    asked = 'webhooks process';
    return differencesFrom(log, parts);
  };
  try {
    let differences = await compare();
    if (differences.length > 0) {
      await delay(parts.lastsMs ?? 5_000);
      const later = new Set(await compare());
      differences = differences.filter((each) => later.has(each));
    }
    if (differences.length === 0)
      return {
        ...found,
        result: 'ok',
        code: 'healthy',
        advice: '',
        detail: `webhook endpoints, signing secrets, pauses and redeliveries are as recorded in the last ${daysCompared} days`,
      };
    const more = differences.length - maxShown;
    return {
      ...found,
      result: 'warning',
      code: 'earlier_state',
      detail:
        `${counted(differences.length, 'change')} of the audit log missing, as after a restore of this database alone: ` +
        differences.slice(0, maxShown).join('; ') +
        (more > 0 ? `; and ${more} more` : ''),
      advice:
        'make these changes again, and inform the merchants of replaced secrets: docs/operating/backup.md. To see an endpoint and its secrets:\n' +
        'gatehouse webhook endpoint list <merchant_id>\ngatehouse webhook secret list <merchant_id>',
    };
  } catch (error) {
    const addresses = asked === 'core' ? parts.cores : [parts.address];
    return { ...found, ...failedFinding(error, { addresses, server: asked, isDoctor: true }) };
  }
}

interface Log {
  /** The newest entry of each webhook endpoint. */
  readonly newest: readonly AuditEntry[];
  /** The newest entry about the signing secrets of each owner. */
  readonly secrets: readonly AuditEntry[];
  /** The newest entry about the pause of each host and webhook endpoint. */
  readonly pauses: readonly AuditEntry[];
  /** The newest redelivery of each merchant. A restore that lost an earlier one lost this one too. */
  readonly redeliveries: readonly AuditEntry[];
}

async function readLog(parts: RecordedChangesParts): Promise<Log> {
  const read = (kind: string): ReturnType<typeof readEntries> => readEntries(parts, kind);
  const [ofEndpoints, ofHosts, ofSecrets, ofRedeliveries] = await Promise.all([
    read('webhook_endpoint'),
    read('endpoint'),
    read('signing_secret'),
    read('redelivery'),
  ]);
  const isPause = ({ action }: AuditEntry): boolean => /\.(pause|resume)$/.test(action);
  const retainedFrom = parts.now().getTime() - retainedDays * dayMs;
  return {
    newest: newestOf(ofEndpoints, ({ targetId }) => targetId),
    secrets: newestOf(ofSecrets, (entry) =>
      [entry.merchantId, detailOf(entry, 'environment'), endpointOf(entry)].join(),
    ),
    pauses: newestOf([...ofEndpoints, ...ofHosts].filter(isPause), pausedName),
    redeliveries: newestOf(ofRedeliveries, ({ merchantId }) => merchantId).filter(
      ({ createTime }) => timeOf(createTime) > retainedFrom,
    ),
  };
}

async function differencesFrom(
  { newest, secrets, pauses, redeliveries }: Log,
  { webhooks }: RecordedChangesParts,
): Promise<readonly string[]> {
  const merchants = [
    ...new Set([...newest, ...secrets, ...pauses, ...redeliveries].map(({ merchantId }) => merchantId)),
  ];
  const differences: string[] = [];
  for (const merchantId of merchants.slice(0, maxMerchants)) {
    const { webhookEndpoints } = await webhooks.webhookEndpoints.listWebhookEndpoints({ merchantId });
    const { signingSecrets } = await webhooks.webhooks.listSigningSecrets({ merchantId });
    const endpoints = new Map(webhookEndpoints.map((each) => [each.webhookEndpointId, each]));
    const live = new Set(
      [...signingSecrets, ...webhookEndpoints.flatMap((each) => each.signingSecrets)].map(
        ({ signingSecretId }) => signingSecretId,
      ),
    );
    const isOfMerchant = (entry: AuditEntry): boolean => entry.merchantId === merchantId;
    for (const entry of newest.filter(isOfMerchant)) {
      const name = `webhook endpoint ${entry.targetId} of ${merchantId}`;
      const endpoint = endpoints.get(entry.targetId);
      if (entry.action === 'webhook_endpoint.delete') {
        if (endpoint !== undefined) differences.push(`the deleted ${name} gets webhooks (${whenOf(entry)})`);
      } else if (endpoint === undefined) {
        if (!webhookEndpoints.some((each) => isSuccessor(each, entry)))
          differences.push(`the ${name} is missing (${whenOf(entry)})`);
      } else if (
        entry.action === 'webhook_endpoint.update' &&
        timeOf(endpoint.updateTime) < timeOf(entry.createTime) - toleranceMs
      )
        differences.push(`the ${name} is as before its update (${whenOf(entry)})`);
    }
    for (const entry of secrets.filter(isOfMerchant)) {
      const endpointId = endpointOf(entry);
      if (!live.has(entry.targetId) && (endpointId === '' || endpoints.has(endpointId)))
        differences.push(
          `the signing secret ${entry.targetId} of ${endpointId || merchantId} is missing (${whenOf(entry)})`,
        );
    }
    for (const entry of redeliveries.filter(isOfMerchant))
      if (!(await hasRedelivery(webhooks, entry)))
        differences.push(`the redelivery ${entry.targetId} of ${merchantId} is missing (${whenOf(entry)})`);
    differences.push(
      ...(await differingPauses(
        webhooks,
        merchantId,
        pauses.filter(
          (entry) => isOfMerchant(entry) && (!isOfEndpoint(entry) || endpoints.has(entry.targetId)),
        ),
      )),
    );
  }
  return differences;
}

async function hasRedelivery(
  { webhooks }: RecordedChangesParts['webhooks'],
  { merchantId, targetId: redeliveryId }: AuditEntry,
): Promise<boolean> {
  try {
    await webhooks.getRedelivery({ merchantId, redeliveryId });
    return true;
  } catch (error) {
    if (error instanceof ConnectError && error.code === Code.NotFound) return false;
    throw error;
  }
}

/** The pauses of a merchant that are unlike their newest entries. */
async function differingPauses(
  { webhooks }: RecordedChangesParts['webhooks'],
  merchantId: string,
  pauses: readonly AuditEntry[],
): Promise<readonly string[]> {
  if (pauses.length === 0) return [];
  const filter = { merchantId, onlyInTrouble: true, includeWebhookEndpoints: true, pageSize: maxEntries };
  const { endpoints, nextPageToken } = await webhooks.listEndpoints(filter);
  // Incomplete, so a pause may be behind it.
  if (nextPageToken !== '') return [];
  const paused = new Map(
    endpoints
      .filter(({ state }) => state === EndpointState.PAUSED)
      .map((each) => [
        each.webhookEndpointId || [merchantId, Environment[each.environment], each.endpoint].join(),
        each,
      ]),
  );
  return pauses.flatMap((entry) => {
    const found = paused.get(pausedName(entry));
    const name = `${isOfEndpoint(entry) ? 'webhook endpoint' : 'host'} ${entry.targetId} of ${merchantId}`;
    if (entry.action.endsWith('.pause'))
      return found === undefined ? [`the paused ${name} gets webhooks (${whenOf(entry)})`] : [];
    return found !== undefined && timeOf(found.troubleTime) < timeOf(entry.createTime) - toleranceMs
      ? [`the resumed ${name} is paused (${whenOf(entry)})`]
      : [];
  });
}

const isOfEndpoint = ({ action }: AuditEntry): boolean => action.startsWith('webhook_endpoint.');

/** The webhook endpoint of an entry, or the merchant, environment and host. */
const pausedName = (entry: AuditEntry): string =>
  isOfEndpoint(entry)
    ? entry.targetId
    : [entry.merchantId, detailOf(entry, 'environment'), entry.targetId].join();

/** Newest first. */
async function readEntries(
  { core, now }: RecordedChangesParts,
  actionKind: string,
): Promise<readonly AuditEntry[]> {
  const fromTime = timestampFromDate(new Date(now().getTime() - daysCompared * dayMs));
  return (await core.audit.listAuditEntries({ actionKind, fromTime, pageSize: maxEntries })).entries;
}

/** The first entry of each key. */
const newestOf = (
  entries: readonly AuditEntry[],
  keyOf: (entry: AuditEntry) => string,
): readonly AuditEntry[] => [...new Map(entries.toReversed().map((entry) => [keyOf(entry), entry])).values()];

/** Whether the merchant has an endpoint at the same host that was created after the missing one. */
const isSuccessor = (
  { url, createTime }: WebhookEndpoint,
  { details, createTime: after }: AuditEntry,
): boolean => new URL(url).origin === details?.['endpoint'] && timeOf(createTime) > timeOf(after);

/** The webhook endpoint that a secret signs for; empty for the secret of orders' webhook_urls. */
const endpointOf = (entry: AuditEntry): string => detailOf(entry, 'webhook_endpoint');

/** Empty when the entry has no such text. */
const detailOf = ({ details }: AuditEntry, name: string): string => {
  const value = details?.[name];
  return typeof value === 'string' ? value : '';
};

const timeOf = (time: AuditEntry['createTime']): number =>
  time === undefined ? 0 : timestampDate(time).getTime();

const whenOf = ({ createTime }: AuditEntry): string => showTime(createTime);
