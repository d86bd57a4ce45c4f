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
import type { Environment } from '../domain/order.ts';
import { environmentNumbers } from '../rpc/environment.ts';
import { failed, good, warning } from './check-outcome.ts';

interface Row {
  readonly closed: Environment[];
  readonly unclaimed: string;
  readonly erasuresLostFrom: Date | null;
}

/** Whether every environment takes payments, and whether requests for erasure were repeated after a restore. Asks the database, as leases do. */
export async function checkRecovery({ pool }: Pick<Database, 'pool'>): Promise<Check> {
  const [row] = await runStatement<Row>(pool, {
    text: `
select array(
    select e::text from unnest(enum_range(null::core.environment)) e where not core.takes_payments(e)
  ) as closed,
  (select count(*)::text from core.unclaimed_payments where claimed_at is null) as unclaimed,
  (select min(lost_from) from core.recoveries where erasures_accepted_by = '') as "erasuresLostFrom"`,
  });
  const closed = row?.closed ?? [];
  const value = create(RecoveryFactsSchema, {
    closedEnvironments: closed.map((environment) => environmentNumbers[environment]),
    unclaimedPaymentCount: BigInt(row?.unclaimed ?? 0),
    ...(row?.erasuresLostFrom == null
      ? {}
      : { erasuresLostFromTime: timestampFromDate(row.erasuresLostFrom) }),
  });
  const facts = { facts: { case: 'recovery', value } } as const;
  if (closed.length > 0) return failed(CheckSubject.RECOVERY, CheckFinding.RECOVERING, facts);
  return value.erasuresLostFromTime === undefined
    ? good(CheckSubject.RECOVERY, facts)
    : warning(CheckSubject.RECOVERY, CheckFinding.ERASURES_LOST, facts);
}
