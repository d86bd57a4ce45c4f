import { fromBinary } from '@bufbuild/protobuf';
import type { EntityManager } from '@mikro-orm/postgresql';
import { lowestStoredIdAt } from '../../../contract/public-id.ts';
import type { StoredId } from '../../../contract/public-id.ts';
import { WalletExchangeSchema } from '../../../gen/gatehouse/v1/payment_attempt_service_pb.js';
import { bulkStatement, plainColumn, rowList } from '../../../platform/database/bulk-statement.ts';
import { runInTransaction } from '../../../platform/database/transaction-statement.ts';
import { recentMs } from '../../domain/hastened.ts';
import type { WalletExchange } from '../../../gen/gatehouse/v1/payment_attempt_service_pb.js';

export interface AttemptKey {
  readonly merchantId: StoredId<'mer'>;
  readonly id: StoredId<'pat'>;
}

/** The attempt that exchanges belong to, or the payer-started payment, whose merchantId is that of no merchant. */
export interface ExchangeOwner {
  readonly merchantId: StoredId<'mer'>;
  readonly id: StoredId<'pat' | 'ppm'>;
}

/** The exchanges of an owner in the last `recentMs`. */
export interface RecentExchanges {
  /** Their number, together with those that were only counted. */
  readonly count: number;
  /** The latest entry that counts exchanges which are not stored. */
  readonly counting: { readonly id: string; readonly exchange: WalletExchange } | undefined;
}

const statement = bulkStatement(
  'count-exchanges',
  {
    owner: rowList<ExchangeOwner>(
      {
        merchant_id: plainColumn('uuid', (owner) => owner.merchantId),
        id: plainColumn('uuid', (owner) => owner.id),
      },
      { hidesLength: true },
    ),
  },
  (sql) => `
select owner.id, (
  select count(*)::integer from core.wallet_exchanges kept
  where kept.merchant_id = owner.merchant_id and kept.payment_attempt_id = owner.id
) as stored
from ${sql.owner}`,
);

/** Counts the stored exchanges of several owners. Returns the number of each. */
export async function countExchanges(
  em: EntityManager,
  owners: readonly ExchangeOwner[],
): Promise<(owner: Pick<ExchangeOwner, 'id'>) => number> {
  const rows = await runInTransaction<{ id: string; stored: number }>(em, statement.with({ owner: owners }));
  return storedOf(rows);
}

// The payload of an entry that counts exchanges is shorter than this, and hardly any other is.
const maxCountingBytes = 64;

const recentStatement = bulkStatement(
  'recent-exchanges',
  {
    owner: rowList<ExchangeOwner & { readonly since: StoredId<never> }>(
      {
        merchant_id: plainColumn('uuid', (owner) => owner.merchantId),
        id: plainColumn('uuid', (owner) => owner.id),
        since: plainColumn('uuid', (owner) => owner.since),
      },
      { hidesLength: true },
    ),
  },
  (sql) => `
select owner.id, counted.stored, counted.short
from ${sql.owner}, lateral (
  select count(*)::integer as stored,
    string_agg(recent.id || ' ' || encode(recent.payload, 'hex'), ' ' order by recent.id)
      filter (where octet_length(recent.payload) between 1 and ${maxCountingBytes}) as short
  from core.wallet_exchanges recent
  where recent.merchant_id = owner.merchant_id and recent.payment_attempt_id = owner.id and recent.id >= owner.since
) counted`,
);

/** Reads how many exchanges of several owners are stored since `recentMs` before `now`, which is the database's time. */
export async function readRecentExchanges(
  em: EntityManager,
  owners: readonly ExchangeOwner[],
  now: Date,
): Promise<(owner: Pick<ExchangeOwner, 'id'>) => RecentExchanges> {
  const since = lowestStoredIdAt(new Date(now.getTime() - recentMs));
  const rows = await runInTransaction<{ id: string; stored: number; short: string | null }>(
    em,
    recentStatement.with({ owner: owners.map(({ merchantId, id }) => ({ merchantId, id, since })) }),
  );
  const byOwner = new Map(rows.map(({ id, stored, short }) => [id, recentOf(stored, short ?? '')]));
  return ({ id }) => byOwner.get(id) ?? { count: 0, counting: undefined };
}

/** `short`: ids and payloads in hexadecimal form, in turn. */
function recentOf(stored: number, short: string): RecentExchanges {
  const counting = [...short.matchAll(/(\S+) (\S+)/g)]
    .map(([, id = '', payload = '']) => ({
      id,
      exchange: fromBinary(WalletExchangeSchema, Buffer.from(payload, 'hex')),
    }))
    .filter(({ exchange }) => exchange.omitted > 0);
  const counted = counting.reduce((sum, { exchange }) => sum + exchange.omitted - 1, 0);
  return { count: stored + counted, counting: counting.at(-1) };
}

function storedOf(rows: readonly { readonly id: string; readonly stored: number }[]) {
  const counts = new Map(rows.map(({ id, stored }) => [id, stored]));
  return ({ id }: { readonly id: string }): number => counts.get(id) ?? 0;
}
