import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';

/** Metrics of a Prometheus server over time, and an alert that fires then or at no time. */
interface Situation {
  readonly situation: string;
  /** The step of the values. A situation of days has a long one, because `promtool` evaluates all rules at each step. */
  readonly every?: string;
  readonly series: Readonly<Record<string, string>>;
  readonly alert: string;
  /** When the alert does not fire. */
  readonly silent?: readonly string[];
  /** When it fires, and with which labels and which summary. */
  readonly fires?: Readonly<Record<string, string>>;
  readonly summary?: string;
}

export const situations = parse(
  await readFile(join(import.meta.dirname, 'situations.yml'), 'utf8'),
) as readonly Situation[];

/** The situations with this step, as a file of `promtool test rules` about the alerts of `rules`. */
export const promtoolTests = (rules: string, every: string): string =>
  JSON.stringify({
    rule_files: [rules],
    evaluation_interval: every,
    tests: situations
      .filter((each) => (each.every ?? '1m') === every)
      .map(({ situation, series, alert, silent = [], fires, summary }) => {
        const at = (eval_time: string | undefined, exp_alerts: object[]) => ({
          ...{ eval_time, alertname: alert, exp_alerts },
        });
        const { at: firesAt, ...exp_labels } = fires ?? {};
        const exp_annotations = { summary, runbook: `docs/operating/alerts.md#${alert.toLowerCase()}` };
        return {
          name: situation,
          interval: every,
          input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
          alert_rule_test: [
            ...silent.map((time) => at(time, [])),
            ...(fires === undefined ? [] : [at(firesAt, [{ exp_labels, exp_annotations }])]),
          ],
        };
      }),
  });
