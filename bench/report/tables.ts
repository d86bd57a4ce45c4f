import type { Measured, Sample } from '../contender.ts';
import { sizeRatio } from '../judgement/targets.ts';
import type { Target } from '../judgement/targets.ts';
import { ratiosOf } from '../judgement/ratios.ts';
import type { Latencies } from '../latencies.ts';
import { halvesOf } from '../parts/memory.ts';
import { keptPart } from '../parts/overload.ts';
import type { PeakMemory } from '../system/peak-memory.ts';
import { median, spread } from '../statistics.ts';
import type { Dated, Part, PartReports, Reports } from './reports.ts';

type Row = readonly (string | number)[];

function table(head: readonly string[], rows: readonly Row[]): string {
  const line = (cells: Row): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map((_, index) => (index === 0 ? '---' : '--:'))), ...rows.map(line)].join(
    '\n',
  );
}

const costColumns = ['facade', 'core', 'postgres', 'nats', 'fastify', 'generator'];

function measuredTable(measured: readonly Measured[]): string {
  const columns = costColumns.filter((name) =>
    measured.some(({ samples }) => samples[0]?.cpu_us[name] !== undefined),
  );
  return table(
    ['contender', '@', '1/s', '±', 'p50 ms', 'p99 ms', 'failed', ...columns.map((name) => `${name} µs`)],
    measured.map((each) => [...figuresOf(each), ...columns.map((name) => cpuOf(each.samples, name))]),
  );
}

function figuresOf({ contender, connections, samples }: Measured): Row {
  const rates = samples.map(({ perSecond }) => perSecond);
  const milliseconds = (figure: 'p50_ms' | 'p99_ms') =>
    median(samples.map((sample) => sample[figure])).toFixed(2);
  return [
    contender,
    connections,
    median(rates).toFixed(0),
    `${(spread(rates) * 100).toFixed(0)} %`,
    milliseconds('p50_ms'),
    milliseconds('p99_ms'),
    samples.reduce((total, { failed }) => total + failed, 0),
  ];
}

function cpuOf(samples: readonly Sample[], name: string): string {
  if (samples[0]?.cpu_us[name] === undefined) return '';
  return median(samples.map(({ cpu_us }) => cpu_us[name] ?? 0)).toFixed(0);
}

const peaksInWords = (peak: PeakMemory): string =>
  `Peak memory: facade ${peak.facade} MB, core ${peak.core} MB, PostgreSQL ${peak.postgres} MB, NATS ${peak.nats} MB.`;

const renderers: { readonly [P in Part]: (report: PartReports[P], reports: Reports) => string } = {
  load: ({ measured, peakMegabytes }) =>
    [
      measuredTable(measured),
      table(
        ['ratio of medians', 'value'],
        ratiosOf(measured).map(({ name, value }) => [name, value.toFixed(2)]),
      ),
      peaksInWords(peakMegabytes),
    ].join('\n\n'),
  size: ({ sizes }, reports) =>
    [
      ...sizes.map(({ orders, measured }) => `${inThousands(orders)} orders:\n\n${measuredTable(measured)}`),
      ...['verify', 'verify newest', 'register'].flatMap((scenario) =>
        [...new Set(sizes.flatMap(({ measured }) => measured.map(({ connections }) => connections)))].map(
          (connections) =>
            `- ${scenario} p50 at ${connections}, with the most orders / with the fewest: ` +
            (sizeRatio(reports, scenario, connections)?.toFixed(2) ?? 'one size only'),
        ),
      ),
    ].join('\n\n'),
  tails: ({ connections, perSecond, register, pgbench }) =>
    [
      `${perSecond} a second, half of the best rate, over ${connections} connections. Requests come at random moments.`,
      table(
        ['medians', 'p50 ms', 'p99 ms', 'p99.9 ms'],
        Object.entries({ register, 'pgbench insert in a transaction': pgbench }).map(([name, all]) => [
          name,
          ...(['p50', 'p99', 'p999'] as const).map((which) =>
            median(all.map((each) => each[which])).toFixed(2),
          ),
        ]),
      ),
    ].join('\n\n'),
  webhooks: ({ oneAtATime, atRate, perSecond, rate, dispatching: { idle, beside, perSecond: sent } }) =>
    table(
      ['commit to arrival', '1/s', 'p50 ms', 'p99 ms', 'max ms'],
      [
        ['one order at a time', '', ...latencyCells(oneAtATime)],
        [`${rate} orders a second`, median(perSecond).toFixed(0), ...latencyCells(atRate)],
        ['one process, as fast as it can', sent.before.toFixed(0), '', '', ''],
        ['the same beside a hanging endpoint', sent.beside.toFixed(0), '', '', ''],
        ['commit to arrival, one dispatcher', '', ...latencyCells(idle)],
        ['the same beside a hanging endpoint', '', ...latencyCells(beside)],
      ],
    ),
  overload: (report) =>
    [
      table(
        ['turn', 'peak 1/s', 'offered', 'accepted', 'answers', 'broken'],
        report.turns.map((turn, index) => [
          index + 1,
          turn.peakPerSecond.toFixed(0),
          `${(turn.offeredPerSecond / turn.peakPerSecond).toFixed(2)} ×`,
          `${(turn.acceptedPerSecond / turn.peakPerSecond).toFixed(2)} ×`,
          turn.statuses
            .map(
              ({ status, count, p50_ms, p99_ms }) =>
                `${count} × ${status}, p50 ${p50_ms.toFixed(0)} ms, p99 ${p99_ms.toFixed(0)} ms`,
            )
            .join('; '),
          turn.broken,
        ]),
      ),
      `${report.connections} clients that pause for ${report.thinkMs} ms between requests; kept of the peak, median: ${keptPart(report).toFixed(2)}.`,
      peaksInWords(report.peakMegabytes),
    ].join('\n\n'),
  memory: (report) =>
    [
      table(
        ['medians, MB', 'first half', 'second half'],
        (['facade', 'core'] as const).flatMap((process) =>
          (['resident', 'heap'] as const).map((figure) => {
            const { first, second } = halvesOf(report.samples, process, figure);
            const name = figure === 'heap' ? 'heap after a full collection' : figure;
            return [`${process}, ${name}`, first.toFixed(0), second.toFixed(0)];
          }),
        ),
      ),
      `${report.connections} connections for ${report.minutes} minutes, one registration to three status checks, ` +
        `${report.perSecond.toFixed(0)} a second, ${report.failed} failed.`,
      peaksInWords(report.peakMegabytes),
    ].join('\n\n'),
};

const latencyCells = (all: readonly Latencies[]): string[] =>
  (['p50', 'p99', 'max'] as const).map((which) => median(all.map((each) => each[which])).toFixed(1));

const inThousands = (count: number): string => count.toLocaleString('en').replaceAll(',', ' ');

/** A part's figures as Markdown. */
export function renderPart<P extends Part>(part: P, dated: Dated<PartReports[P]>, reports: Reports): string {
  return renderers[part](dated.report, reports);
}

export function renderTargets(targets: readonly Target[]): string {
  const verdict = ({ met }: Target): string => (met === undefined ? 'not measured' : met ? 'yes' : '**no**');
  return table(
    ['target', 'measured', 'met'],
    targets.map((target) => [target.text, target.measured ?? '', verdict(target)]),
  );
}
