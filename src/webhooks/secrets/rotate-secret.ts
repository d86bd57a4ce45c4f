import type { PoolClient } from 'pg';
import type { NewId } from '../../contract/public-id.ts';
import { reachedTime } from '../../platform/database/retention-start.ts';
import type { TwoClocks } from '../../platform/database/retention-start.ts';
import type { Actor } from '../../platform/rpc/actor.ts';
import { recordAudit } from '../audit/record-audit.ts';
import type { SecretOwner } from '../domain/delivery.ts';
import { describeSecret } from './describe-secret.ts';
import type { SigningSecret } from './describe-secret.ts';
import type { SecretCipher } from './secret-cipher.ts';
import { insertSecret, keepOwner, liveRows, makeCurrent, removeSecrets } from './secret-rows.ts';
import type { StoredSecret } from './secret-rows.ts';

export interface RotationParts extends TwoClocks {
  readonly cipher: SecretCipher;
  readonly newId: NewId;
  readonly randomBytes: (length: number) => Buffer;
}

export interface Rotation {
  readonly owner: SecretOwner;
  /** 0: the new secret is current at once. */
  readonly promoteAfterMs: number;
  readonly by: Actor;
}

/** Standard Webhooks: 24 to 64 bytes. */
const secretBytes = 32;

/** The text of a new secret, in the form of Standard Webhooks. */
export const newSecretText = (randomBytes: (length: number) => Buffer): string =>
  `whsec_${randomBytes(secretBytes).toString('base64')}`;

/**
 * Adds a secret to those of its owner, which the caller has locked. Returns its text, which is never shown again.
 * @throws EndpointDeletedError
 */
export async function rotateSecret(
  client: PoolClient,
  parts: RotationParts,
  stored: readonly StoredSecret[],
  { owner, promoteAfterMs, by }: Rotation,
): Promise<{ readonly secret: SigningSecret; readonly text: string }> {
  const { cipher, newId, randomBytes, now } = parts;
  await keepOwner(client, owner);
  const at = now();
  const live = liveRows(stored, reachedTime(parts));
  const isCurrent = live === undefined || !live.current.shown || promoteAfterMs === 0;
  const promoteAt = isCurrent ? null : new Date(at.getTime() + promoteAfterMs);
  const text = newSecretText(randomBytes);
  const name = { ...owner, id: newId('whs', at) };
  const row = {
    ...name,
    ...cipher.seal(text, name),
    shown: true,
    isCurrent,
    promoteAt,
    ending: text.slice(-4),
    createdAt: at,
  };
  if (isCurrent) {
    await removeSecrets(client, owner, { current: true, next: true });
  } else {
    if (!live.current.isCurrent) await makeCurrent(client, live.current);
    await removeSecrets(client, owner, { current: false, next: true });
  }
  await insertSecret(client, row);
  await recordAudit(client, newId, at, by, {
    action: 'signing_secret.rotate',
    merchantId: owner.merchantId,
    targetId: row.id,
    details: { ...auditDetails(owner), promote_time: promoteAt?.toISOString() ?? null },
  });
  return { secret: describeSecret(row, isCurrent), text };
}

/** Makes the next secret the current one; undefined when there is no next secret. */
export async function promoteSecret(
  client: PoolClient,
  parts: Pick<RotationParts, 'newId' | keyof TwoClocks>,
  stored: readonly StoredSecret[],
  { owner, by }: Pick<Rotation, 'owner' | 'by'>,
): Promise<SigningSecret | undefined> {
  const next = liveRows(stored, reachedTime(parts))?.next;
  if (next === undefined) return undefined;
  await recordAudit(client, parts.newId, parts.now(), by, {
    action: 'signing_secret.promote',
    merchantId: owner.merchantId,
    targetId: next.id,
    details: auditDetails(owner),
  });
  return describeSecret(await makeCurrent(client, next), true);
}

const auditDetails = ({ environment, endpointId }: SecretOwner) => ({
  environment,
  ...(endpointId === '' ? {} : { webhook_endpoint: endpointId }),
});
