import type { SecretOwner } from '../domain/delivery.ts';
import { liveRows } from './secret-rows.ts';
import type { StoredSecret } from './secret-rows.ts';

/** The public facts about a merchant's signing secret, without its text. */
export interface SigningSecret extends SecretOwner {
  readonly id: string;
  readonly state: 'CURRENT' | 'NEXT';
  /** Its last four characters. */
  readonly ending: string;
  /** Whether a user has seen it. Since release 0.1.0, every new secret is shown. */
  readonly shown: boolean;
  readonly createdAt: Date;
  /** When a next secret becomes current automatically. */
  readonly promoteAt: Date | null;
}

/** Empty without secrets. */
export function describeLive(rows: readonly StoredSecret[], at: Date): SigningSecret[] {
  const live = liveRows(rows, at);
  if (live === undefined) return [];
  const { current, next } = live;
  return [describeSecret(current, true), ...(next === undefined ? [] : [describeSecret(next, false)])];
}

export function describeSecret(row: StoredSecret, isCurrent: boolean): SigningSecret {
  const { merchantId, environment, endpointId, id, ending, shown, createdAt, promoteAt } = row;
  return {
    merchantId,
    environment,
    endpointId,
    id,
    state: isCurrent ? 'CURRENT' : 'NEXT',
    ending,
    shown,
    createdAt,
    promoteAt: isCurrent ? null : promoteAt,
  };
}
