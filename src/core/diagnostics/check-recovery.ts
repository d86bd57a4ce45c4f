import { create } from '@bufbuild/protobuf';
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
import { failed, good } from './check-outcome.ts';

/** Whether every environment takes payments. Asks the database, as leases do. */
export async function checkRecovery({ pool }: Pick<Database, 'pool'>): Promise<Check> {
  const [row] = await runStatement<{ closed: Environment[]; unclaimed: string }>(pool, {
    text: `
select array(
    select e::text from unnest(enum_range(null::core.environment)) e where not core.takes_payments(e)
  ) as closed,
  (select count(*)::text from core.unclaimed_payments where claimed_at is null) as unclaimed`,
  });
  const closed = row?.closed ?? [];
  const value = create(RecoveryFactsSchema, {
    closedEnvironments: closed.map((environment) => environmentNumbers[environment]),
    unclaimedPaymentCount: BigInt(row?.unclaimed ?? 0),
  });
  const facts = { facts: { case: 'recovery', value } } as const;
  return closed.length === 0
    ? good(CheckSubject.RECOVERY, facts)
    : failed(CheckSubject.RECOVERY, CheckFinding.RECOVERING, facts);
}
