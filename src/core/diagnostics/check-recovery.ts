import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import {
  CheckFinding,
  CheckSubject,
  RecoveryFactsSchema,
} from '../../gen/gatehouse/v1/diagnostics_service_pb.js';
import type { Check } from '../../gen/gatehouse/v1/diagnostics_service_pb.js';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { Database } from '../database/database.ts';
import { openQuestions } from '../database/open-questions.sql.ts';
import type { OpenQuestions } from '../database/open-questions.sql.ts';
import type { Environment } from '../domain/order.ts';
import { publicId } from '../../contract/public-id.ts';
import type { StoredId } from '../../contract/public-id.ts';
import { environmentNumbers } from '../rpc/environment.ts';
import { failedCheck, goodCheck, warningCheck } from './check-outcome.ts';

interface Row extends OpenQuestions {
  readonly closed: Environment[];
  readonly unclaimed: string;
  readonly held: StoredId<'mer'>[];
}

/** How many held merchants the check names. */
const namedMerchants = 10;

/** Whether every environment takes payments, and whether operators have answered the questions of a restored gateway. Asks the database, as leases do. */
export async function checkRecovery({ pool }: Pick<Database, 'pool'>): Promise<Check> {
  const [row] = await runStatement<Row>(pool, {
    text: `
${openQuestions},
  array(
    select e::text from unnest(enum_range(null::core.environment)) e where not core.takes_payments(e)
  ) as closed,
  (select count(*)::text from core.unclaimed_payments where claimed_at is null) as unclaimed,
  array(
    select distinct held::text from unnest(enum_range(null::core.environment)) e, unnest(core.held_merchants(e)) held
    where core.takes_payments(e) order by 1
  ) as held`,
  });
  const closed = row?.closed ?? [];
  const value = create(RecoveryFactsSchema, {
    closedEnvironments: closed.map((environment) => environmentNumbers[environment]),
    unclaimedPaymentCount: BigInt(row?.unclaimed ?? 0),
    heldMerchantCount: BigInt(row?.held.length ?? 0),
    heldMerchantIds: (row?.held ?? []).slice(0, namedMerchants).map((id) => publicId('mer', id)),
    ...(row?.erasuresLostFrom == null
      ? {}
      : { erasuresLostFromTime: timestampFromDate(row.erasuresLostFrom) }),
    ...(row?.accountsLostFrom == null
      ? {}
      : { accountsLostFromTime: timestampFromDate(row.accountsLostFrom) }),
    ...(row?.merchantsLostFrom == null
      ? {}
      : { merchantsLostFromTime: timestampFromDate(row.merchantsLostFrom) }),
  });
  const facts = { facts: { case: 'recovery', value } } as const;
  if (closed.length > 0) return failedCheck(CheckSubject.RECOVERY, CheckFinding.RECOVERING, facts);
  if (value.accountsLostFromTime !== undefined || value.merchantsLostFromTime !== undefined)
    return warningCheck(CheckSubject.RECOVERY, CheckFinding.MERCHANTS_LOST, facts);
  if (value.heldMerchantCount > 0n)
    return warningCheck(CheckSubject.RECOVERY, CheckFinding.MERCHANTS_HELD, facts);
  return value.erasuresLostFromTime === undefined
    ? goodCheck(CheckSubject.RECOVERY, facts)
    : warningCheck(CheckSubject.RECOVERY, CheckFinding.ERASURES_LOST, facts);
}
