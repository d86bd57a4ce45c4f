import { fields, table } from '../table.ts';
import type { FaultResult, ProveReport } from './report.ts';

const resultWords = { held: 'held', broken: 'BROKEN', not_tried: 'not tried' } as const;
const maxShown = 5;

const words = (name: string): string => name.replaceAll('_', ' ');

/** A report for people. */
export function showReport(report: ProveReport, width: number): string {
  const { campaign, machine, gatehouse, configuration, counts } = report;
  const settings = Object.entries({ ...configuration.settings, ...configuration.settings_of_the_campaign });
  const head = fields(
    [
      ['Verdict', [report.verdict.toUpperCase(), ...report.reasons].join('\n')],
      ['Gatehouse', [gatehouse.version, gatehouse.commit.slice(0, 12)].filter(Boolean).join(' ')],
      [
        'Machine',
        `${machine.processors}, ${Math.round(machine.memory_bytes / 2 ** 30)} GiB, ${machine.system}`,
      ],
      ['Software', `Node ${machine.node}, ${machine.database}, ${machine.file_system}`],
      ['Time', `${campaign.began_at} to ${campaign.ended_at} (${campaign.seconds} s)`],
      ['Seed', String(campaign.seed)],
      ['Load', `${campaign.rate_per_second} customers a second`],
      ['Database', configuration.database],
      ['Broker', configuration.broker],
      ['Settings', settings.map(([name, value]) => `${name}=${value}`).join('\n')],
      ['Settings left out', configuration.settings_left_out.join(', ')],
      [
        'Counts',
        Object.entries(counts)
          .map(([name, count]) => `${words(name)}: ${count}`)
          .join(', '),
      ],
    ],
    width,
  );
  const invariants = table(
    [{ head: 'RESULT' }, { head: 'INVARIANT', wraps: true }, { head: 'SEEN', atMost: 40 }],
    report.invariants.map(({ name, promise, result, seen }) => [
      resultWords[result],
      `${name}\n${promise}`,
      seen,
    ]),
    width,
  );
  const violations = report.invariants
    .filter(({ violation_count: count }) => count > 0)
    .map(({ name, violations: all, violation_count: count }) =>
      [
        `${name}: ${count} ${count === 1 ? 'violation' : 'violations'}`,
        ...all
          .slice(0, maxShown)
          .map(({ order_number: order, seen }) => `  ${order === '' ? '' : `${order}: `}${seen}`),
        ...(count > maxShown ? ['  … the report has more'] : []),
      ].join('\n'),
    );
  return [head, invariants, ...violations, showFaults(report.faults, width)].join('\n\n');
}

function showFaults(all: readonly FaultResult[], width: number): string {
  return table(
    [
      { head: 'FAULT' },
      { head: 'LASTED', right: true },
      { head: 'ORDERS TAKEN', right: true },
      { head: 'SERVING AGAIN', right: true },
      { head: 'HOW', wraps: true },
    ],
    all.map((fault) => {
      const after = fault.serving_again_after_seconds;
      const name = `${fault.target}:${fault.fault}`;
      if (!fault.tried) return [name, '', '', 'not tried', fault.detail];
      return [
        name,
        `${fault.lasted_seconds.toFixed(1)} s`,
        String(fault.acknowledged_meanwhile),
        after === null ? 'NEVER' : `after ${after.toFixed(1)} s`,
        fault.detail,
      ];
    }),
    width,
  );
}
