import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';

/** Metrics of a Prometheus server over time, and an alert that fires then or at no time. */
interface Situation {
  readonly situation: string;
  /** The step of the values. A situation of days has a long one, because `promtool` evaluates the rule at each step. */
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

interface Rules {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string }[] }[];
}

/**
 * Writes each situation as a file of `promtool test rules`, and returns their paths. Only the rule of its alert is evaluated,
 * because `promtool` evaluates all rules of a file at each step.
 */
export async function writePromtoolTests(alerts: string, out: string): Promise<readonly string[]> {
  const rules = (parse(await readFile(alerts, 'utf8')) as Rules).groups.flatMap((group) => group.rules);
  return Promise.all(
    situations.map(async (situation, number) => {
      const name = `situation-${number}`;
      const rule = { name, rules: rules.filter(({ alert }) => alert === situation.alert) };
      await writeFile(join(out, `${name}.rules.json`), JSON.stringify({ groups: [rule] }));
      const path = join(out, `${name}.json`);
      await writeFile(path, JSON.stringify(promtoolFile(situation, `${name}.rules.json`)));
      return path;
    }),
  );
}

function promtoolFile(
  { situation, every = '1m', series, alert, silent = [], fires, summary }: Situation,
  rules: string,
): object {
  const at = (eval_time: string | undefined, exp_alerts: object[]) => ({
    ...{ eval_time, alertname: alert, exp_alerts },
  });
  const { at: firesAt, ...exp_labels } = fires ?? {};
  const exp_annotations = { summary, runbook: `docs/operating/alerts.md#${alert.toLowerCase()}` };
  const test = {
    name: situation,
    interval: every,
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    alert_rule_test: [
      ...silent.map((time) => at(time, [])),
      ...(fires === undefined ? [] : [at(firesAt, [{ exp_labels, exp_annotations }])]),
    ],
  };
  return { rule_files: [rules], evaluation_interval: every, tests: [test] };
}
