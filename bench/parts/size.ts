import type { Measured } from '../contender.ts';
import { restContender } from '../contenders/rest.ts';
import type { UnderLoad } from '../contenders/rest.ts';
import { measureInTurns } from '../measure-in-turns.ts';
import type { Turns } from '../measure-in-turns.ts';
import { startGatehouse } from '../system/gatehouse.ts';
import type { Prepared } from '../system/prepare.ts';

/** The results of one table size. Here the names of contenders contain the scenario only. */
export interface SizeReport {
  readonly sizes: readonly { readonly orders: number; readonly measured: readonly Measured[] }[];
}

/**
 * Verify and register with few and with many orders in the table. Each size has its own Gatehouse, and they take turns.
 * "verify newest" requests only the newest orders of the large table: as many as the small table has.
 */
export async function measureSizes(prepared: Prepared, turns: Turns): Promise<SizeReport> {
  const cleanUps = prepared.cleanUps.nest();
  const { databases, merchant, nextRun, postgres } = prepared;
  try {
    const underLoad: UnderLoad[] = [];
    for (const { seeded, url } of databases) {
      const gatehouse = await startGatehouse({ databaseUrl: url, seeded });
      cleanUps.add(gatehouse.stop);
      underLoad.push({ gatehouse, merchant, postmaster: postgres.postmaster, nextRun });
    }
    const nameOf = (scenario: string, orders: number): string => `${scenario} of ${orders}`;
    const fewest = Math.min(...databases.map(({ seeded }) => seeded));
    const contenders = (
      [
        ['verify', 'verify', undefined],
        ['verify', 'verify newest', fewest],
        ['register', 'register', undefined],
      ] as const
    ).flatMap(([scenario, name, newest]) =>
      underLoad.map((under) =>
        restContender(scenario, under, {
          name: nameOf(name, under.gatehouse.seeded),
          ...(newest === undefined ? {} : { newest }),
        }),
      ),
    );
    const measured = await measureInTurns([contenders], turns);
    return {
      sizes: databases.map(({ seeded }) => ({
        orders: seeded,
        measured: measured
          .filter(({ contender }) => contender.endsWith(` of ${seeded}`))
          .map((each) => ({ ...each, contender: each.contender.replace(` of ${seeded}`, '') })),
      })),
    };
  } finally {
    await cleanUps.run();
  }
}
