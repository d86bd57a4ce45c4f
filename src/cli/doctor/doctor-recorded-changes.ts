import { setTimeout as delay } from 'node:timers/promises';
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { AuditEntry } from '../../gen/gatehouse/v1/audit_service_pb.js';
import type { WebhookEndpoint } from '../../gen/gatehouse/v1/webhook_endpoint_service_pb.js';
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

const daysCompared = 30;
const maxEntries = 500;
const maxMerchants = 100;
const maxShown = 5;
/** An update is recorded a moment after the time that it gives the endpoint. */
const toleranceMs = 10_000;

/**
 * Compares the latest changes of webhook endpoints and signing secrets in the audit log, which core stores, with the state of `webhooks`.
 * They differ if the database of `webhooks` alone was restored. Never rejects.
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
        ...{ result: 'ok', code: 'healthy', advice: '' },
        detail: `the webhook endpoints and signing secrets are as changed in the last ${daysCompared} days`,
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
}

const readLog = async (parts: RecordedChangesParts): Promise<Log> => ({
  newest: [...(await newestEntries(parts, 'webhook_endpoint')).values()],
  secrets: [...(await newestEntries(parts, 'signing_secret')).values()],
});

async function differencesFrom(
  { newest, secrets }: Log,
  { webhooks }: RecordedChangesParts,
): Promise<readonly string[]> {
  const merchants = [...new Set([...newest, ...secrets].map(({ merchantId }) => merchantId))];
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
  }
  return differences;
}

/** The newest entry of each endpoint, or of each owner of secrets. */
async function newestEntries(
  { core, now }: RecordedChangesParts,
  actionKind: string,
): Promise<ReadonlyMap<string, AuditEntry>> {
  const fromTime = timestampFromDate(new Date(now().getTime() - daysCompared * 24 * 60 * 60_000));
  const { entries } = await core.audit.listAuditEntries({ actionKind, fromTime, pageSize: maxEntries });
  const newest = new Map<string, AuditEntry>();
  for (const entry of entries) {
    const key =
      actionKind === 'webhook_endpoint'
        ? entry.targetId
        : [entry.merchantId, detailOf(entry, 'environment'), endpointOf(entry)].join();
    if (!newest.has(key)) newest.set(key, entry);
  }
  return newest;
}

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
