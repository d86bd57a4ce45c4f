import type { PoolClient } from 'pg';
import type { NewId } from '../../contract/public-id.ts';
import type { LiveSecrets } from '../../contract/webhook-signature.ts';
import { reachedTime } from '../../platform/database/retention-start.ts';
import type { TwoClocks } from '../../platform/database/retention-start.ts';
import type { Actor } from '../../platform/rpc/actor.ts';
import type { NamedKey } from '../../platform/settings/named-keys.ts';
import type { Database } from '../database/database.ts';
import type { Environment, SecretOwner } from '../domain/delivery.ts';
import type { SecretProblem } from '../domain/explain-delivery.ts';
import { describeLive } from './describe-secret.ts';
import type { SigningSecret } from './describe-secret.ts';
import { createLiveSecretCache } from './live-secrets.ts';
import { resealSecrets } from './reseal-secrets.ts';
import type { Resealed } from './reseal-secrets.ts';
import { newSecretText, promoteSecret, rotateSecret } from './rotate-secret.ts';
import { createSecretCipher } from './secret-cipher.ts';
import {
  changeSecrets,
  findDue,
  findSecrets,
  findSecretsOfEndpoints,
  liveRows,
  lockSecrets,
  makeCurrent,
  removeSecrets,
} from './secret-rows.ts';

export interface SigningSecrets {
  /**
   * The signing secrets, from a cache of at most 5 seconds; undefined while none was shown to anyone.
   * @throws SecretUnusableError with the name of the missing or wrong key.
   */
  readonly live: (owner: SecretOwner) => Promise<LiveSecrets | undefined>;
  /** A new secret that is not stored. It signs webhooks of a receiver that has no secret to verify them. */
  readonly unseen: () => LiveSecrets;
  /** Why nothing can be signed; undefined when it can. Changes nothing. */
  readonly problem: (owner: SecretOwner) => Promise<SecretProblem | 'NOT_SHOWN' | undefined>;
  /** Of orders' webhook_urls: the current secret before the next one, sandbox before production. */
  readonly list: (merchantId: string, environment: Environment | undefined) => Promise<SigningSecret[]>;
  /** Of each of a merchant's webhook endpoints, by its id: the current secret before the next one. Read with one statement. */
  readonly listOf: (
    merchantId: string,
    endpointIds: readonly string[],
  ) => Promise<(endpointId: string) => SigningSecret[]>;
  /**
   * Creates a secret and returns its text, which is never shown again. The secret is current at once if it is the first one, if it
   * replaces one that was never shown, or if `promoteAfterMs` is 0. Otherwise it is the next one until it is promoted or that time
   * has passed.
   * @throws EndpointDeletedError
   */
  readonly rotate: (
    owner: SecretOwner,
    promoteAfterMs: number,
    by: Actor,
  ) => Promise<{ readonly secret: SigningSecret; readonly text: string }>;
  /** `rotate` of an owner without secrets, in the caller's transaction. */
  readonly createFirst: (
    client: PoolClient,
    owner: SecretOwner,
    by: Actor,
  ) => Promise<{ readonly secret: SigningSecret; readonly text: string }>;
  /** Removes all secrets of an owner, in the caller's transaction. */
  readonly removeAll: (client: PoolClient, owner: SecretOwner) => Promise<void>;
  /** Makes the next secret the current one; undefined when there is no next secret. */
  readonly promote: (owner: SecretOwner, by: Actor) => Promise<SigningSecret | undefined>;
  /**
   * Promotes next secrets whose time has come by both clocks, because the replaced secret is deleted then. Returns their number.
   */
  readonly promoteDue: () => Promise<number>;
  /** Encrypts again, with the first key, all secrets that use another key. */
  readonly reseal: () => Promise<Resealed>;
}

export interface SigningSecretsParts extends TwoClocks {
  readonly database: Database;
  /** The first encrypts. The others only decrypt. */
  readonly keys: readonly [NamedKey, ...NamedKey[]];
  readonly newId: NewId;
  readonly randomBytes: (length: number) => Buffer;
  /** A monotonic clock for the age of cached secrets, because `now` may be set back. */
  readonly monotonicMs: () => number;
}

const dueBatch = 100;

export function createSigningSecrets(parts: SigningSecretsParts): SigningSecrets {
  const { monotonicMs, randomBytes } = parts;
  const promotionTime = (): Date => reachedTime(parts);
  const { pool } = parts.database;
  const cipher = createSecretCipher(parts.keys, randomBytes);
  const cache = createLiveSecretCache({ pool, cipher, promotionTime, monotonicMs });
  const rotation = { ...parts, cipher };

  return {
    live: cache.live,
    unseen: () => ({ current: newSecretText(randomBytes) }),
    problem: cache.problem,

    async list(merchantId, environment) {
      const at = promotionTime();
      const rows = await findSecrets(pool, merchantId, environment, '');
      return (['SANDBOX', 'PRODUCTION'] as const).flatMap((each) =>
        describeLive(
          rows.filter((row) => row.environment === each),
          at,
        ),
      );
    },

    async listOf(merchantId, endpointIds) {
      const at = promotionTime();
      const rows = await findSecretsOfEndpoints(pool, merchantId, endpointIds);
      return (id) =>
        describeLive(
          rows.filter(({ endpointId }) => endpointId === id),
          at,
        );
    },

    async rotate(owner, promoteAfterMs, by) {
      const made = await changeSecrets(pool, owner, (client, stored) =>
        rotateSecret(client, rotation, stored, { owner, promoteAfterMs, by }),
      );
      cache.forget(owner);
      return made;
    },

    createFirst: async (client, owner, by) =>
      rotateSecret(client, rotation, await lockSecrets(client, owner), { owner, promoteAfterMs: 0, by }),

    removeAll: (client, owner) => removeSecrets(client, owner, { current: true, next: true }),

    async promote(owner, by) {
      const promoted = await changeSecrets(pool, owner, (client, stored) =>
        promoteSecret(client, rotation, stored, { owner, by }),
      );
      cache.forget(owner);
      return promoted;
    },

    async promoteDue() {
      const due = await findDue(pool, promotionTime(), dueBatch);
      let count = 0;
      for (const owner of due) {
        count += await changeSecrets(pool, owner, async (client, stored) => {
          // Another process may have created a secret, or an operator rotated it.
          const current = liveRows(stored, promotionTime())?.current;
          if (current === undefined || current.isCurrent) return 0;
          await makeCurrent(client, current);
          return 1;
        });
      }
      return count;
    },

    reseal: () => resealSecrets(pool, cipher),
  };
}
