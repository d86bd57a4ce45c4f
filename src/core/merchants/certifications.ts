import type { ConnectError } from '@connectrpc/connect';
import { isCertified } from '../../contract/certification-checks.ts';
import type { CertificationPart, CertifiedCheck } from '../../contract/certification-checks.ts';
import { rpcError } from '../../contract/error-reason.ts';
import { storedId } from '../../contract/public-id.ts';
import type { NewId, PublicId } from '../../contract/public-id.ts';
import type { Actor } from '../../platform/rpc/actor.ts';
import { recordAudit } from '../audit/record-audit.ts';
import type { Database } from '../database/database.ts';
import { CertificationRow, MerchantRow } from '../database/merchant-entities.ts';

/** The results of a part of a run. */
export interface CertifiedPart {
  readonly part: CertificationPart;
  readonly checks: readonly CertifiedCheck[];
}

export interface CertificationRun {
  readonly webhookUrl: string;
  readonly apiVersion: string;
  /** Each part at most once. */
  readonly parts: readonly CertifiedPart[];
}

/** The latest results of a part. */
export type Certification = Omit<CertificationRow, symbol | 'merchantId'>;

export interface CertificationStore {
  /** Replaces the results of the run's parts. Undefined when there is no such merchant. */
  readonly record: (
    merchantId: PublicId<'mer'>,
    run: CertificationRun,
    by: Actor,
  ) => Promise<readonly Certification[] | undefined>;
  /** Of each recorded part. */
  readonly latest: (merchantId: PublicId<'mer'>) => Promise<readonly Certification[]>;
}

export interface CertificationStoreOptions {
  readonly database: Database;
  readonly newId: NewId;
  readonly now: () => Date;
}

export function createCertificationStore({
  database,
  newId,
  now,
}: CertificationStoreOptions): CertificationStore {
  return {
    record: (merchantId, { webhookUrl, apiVersion, parts }, by) =>
      database.fork().transactional(async (em) => {
        const id = storedId('mer', merchantId);
        if ((await em.count(MerchantRow, { id })) === 0) return undefined;
        const recordedAt = now();
        const certifications = parts.map(({ part, checks }): Certification => ({
          part,
          checks,
          certified: isCertified(part, checks),
          webhookUrl,
          apiVersion,
          recordedAt,
        }));
        await em.upsertMany(
          CertificationRow,
          certifications.map((each) => ({ ...each, merchantId: id })),
        );
        const details = {
          webhook_url: webhookUrl,
          certified: partsOf(certifications, true),
          not_certified: partsOf(certifications, false),
        };
        recordAudit(em, newId, recordedAt, by, {
          action: 'merchant.certify',
          merchantId,
          targetId: merchantId,
          details,
        });
        return certifications;
      }),
    latest: async (merchantId) =>
      database
        .fork()
        .find(CertificationRow, { merchantId: storedId('mer', merchantId) }, { orderBy: { part: 'desc' } }),
  };
}

const partsOf = (certifications: readonly Certification[], isWanted: boolean): string =>
  certifications
    .filter(({ certified }) => certified === isWanted)
    .map(({ part }) => part)
    .join(', ');

/** The error if a required part is not certified by its latest results. */
export function refuseUncertified(
  required: readonly CertificationPart[],
  certifications: readonly Certification[],
): ConnectError | undefined {
  const missing = required.filter(
    (part) => !certifications.some((each) => each.part === part && each.certified),
  );
  if (missing.length === 0) return undefined;
  return rpcError(
    'CERTIFICATION_REQUIRED',
    `production requires that the merchant's ${missing.join(' and ')} passed a certification; see gatehouse certify --help`,
    { metadata: { missing_parts: missing.join(',') } },
  );
}
