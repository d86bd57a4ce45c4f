import { spawnSync } from 'node:child_process';
import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { alerts, memoryBytes } from '../../../scripts/monitoring/alerts.ts';
import { differingFiles } from '../../../scripts/monitoring/main.ts';
import { situations } from '../../integration/monitoring/situations.ts';
import { dashboardMistakes } from './dashboard-mistakes.ts';
import type { Dashboard, Panel } from './dashboard-mistakes.ts';
import { root } from './repository-files.ts';
import { sharedFolder } from '../../support/shared-folder.ts';

const folder = join(root, 'deploy/monitoring');
const dashboard = JSON.parse(await readFile(join(folder, 'grafana/gatehouse.json'), 'utf8')) as Dashboard;

describe('the files of deploy/monitoring', () => {
  const check = (...options: string[]) =>
    spawnSync(process.execPath, ['scripts/monitoring/main.ts', ...options], { cwd: root, encoding: 'utf8' });

  test('are the generated ones', () => {
    const { status, stderr } = check('--check');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });

  const own = sharedFolder();
  test('are named when they differ or are missing', async () => {
    await cp(folder, own, { recursive: true });
    await writeFile(join(own, 'alerts.yml'), 'groups: []\n');
    await rm(join(own, 'grafana'), { recursive: true });
    expect(await differingFiles(pathToFileURL(`${own}/`))).toEqual(['alerts.yml', 'grafana/gatehouse.json']);
  });

  test('are not written for an unknown option', () => {
    const { status, stderr } = check('--chek');
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining('--chek') as unknown });
  });
});

test.each(['prometheus-kubernetes.yml', 'prometheus-kubernetes-tls.yml'])(
  'every job of %s leaves out pods that have ended',
  async (file) => {
    const { scrape_configs: jobs } = parse(await readFile(join(folder, file), 'utf8')) as {
      readonly scrape_configs: readonly { readonly relabel_configs: readonly object[] }[];
    };
    const dropped = {
      source_labels: ['__meta_kubernetes_pod_phase'],
      regex: 'Failed|Succeeded',
      action: 'drop',
    };
    for (const { relabel_configs: rules } of jobs) expect(rules).toContainEqual(dropped);
  },
);

test('each alert has a case in which it fires, and each step of the cases is one that the test runs', () => {
  const names = situations.flatMap(({ alert, fires }) => (fires === undefined ? [] : [alert]));
  expect(alerts.map(({ name }) => name).filter((name) => !names.includes(name))).toEqual([]);
  expect(new Set(situations.map(({ every }) => every))).toEqual(new Set([undefined, '10m']));
});

test('the alert of each process fires well below the memory at which Kubernetes ends it', async () => {
  const units = { Mi: 2 ** 20, Gi: 2 ** 30 } as const;
  const limitOf = async (job: string): Promise<number> => {
    const text = await readFile(join(root, `deploy/kubernetes/gatehouse/${job}.yaml`), 'utf8');
    const [, count = '0', unit] = /limits: \{ memory: (\d+)(Mi|Gi) \}/.exec(text) ?? [];
    return Number(count) * units[unit as keyof typeof units];
  };
  const jobs = Object.entries(memoryBytes);
  expect(jobs.map(([job]) => job).toSorted()).toEqual([
    'checkout',
    'core',
    'dashboard',
    'rest-facade',
    'wallets',
    'webhooks',
  ]);
  for (const [job, bytes] of jobs) expect([job, bytes <= 0.8 * (await limitOf(job))]).toEqual([job, true]);
  const { expr = '' } = alerts.find(({ name }) => name === 'GatehouseMemoryHigh') ?? {};
  for (const [job, bytes] of jobs)
    expect(expr).toMatch(new RegExp(`gatehouse-\\([^)]*\\b${job}\\b[^)]*\\)"\\} > ${bytes / 1e6}e6`));
});

test('Prometheus scrapes the same targets with and without TLS', async () => {
  interface Job {
    readonly job_name: string;
    readonly dns_sd_configs: unknown;
    readonly scheme?: string;
    readonly tls_config?: { readonly server_name: string };
  }
  const jobsOf = async (file: string): Promise<Job[]> =>
    (parse(await readFile(join(folder, file), 'utf8'), { merge: true }) as { scrape_configs: Job[] })
      .scrape_configs;
  const withTls = await jobsOf('prometheus-tls.yml');
  const names = withTls
    .filter(({ scheme }) => scheme === 'https')
    .map(({ job_name, tls_config }) => [job_name, tls_config?.server_name]);
  expect(names).toEqual([
    ['gatehouse-core', 'core'],
    ['gatehouse-webhooks', 'webhooks'],
  ]);
  expect(withTls.map(({ scheme: _, tls_config: __, ...job }) => job)).toEqual(await jobsOf('prometheus.yml'));
});

describe('the dashboard', () => {
  const withPanel = (change: (panel: Panel) => Panel): Dashboard => ({
    ...dashboard,
    panels: dashboard.panels.map((panel) =>
      panel.title === 'Duration of calls (p99)' ? change(panel) : panel,
    ),
  });
  const withTarget = (change: object) =>
    withPanel((panel) => ({
      ...panel,
      targets: (panel.targets ?? []).map((target) => ({ ...target, ...change })),
    }));

  test('has no mistake that Grafana would ignore', () => {
    expect(dashboardMistakes(dashboard)).toEqual([]);
    expect(dashboard.panels.length).toBeGreaterThan(20);
  });

  test.each([
    ['used twice', withPanel((panel) => ({ ...panel, id: 1 }))],
    [
      'data source',
      withPanel((panel) => ({ ...panel, datasource: { type: 'prometheus', uid: '${source}' } })),
    ],
    ['data source', { ...dashboard, templating: { list: [] } }],
    ['no query', withPanel((panel) => ({ ...panel, targets: [] }))],
    [
      'one refId',
      withPanel((panel) => ({ ...panel, targets: [...(panel.targets ?? []), ...(panel.targets ?? [])] })),
    ],
    ['empty query', withTarget({ expr: ' ' })],
    ['the label wallets', withTarget({ legendFormat: '{{wallets}}' })],
    ['exemplars', withTarget({ exemplar: false })],
    ['no data', withTarget({ expr: 'sum(rate(r{status=~"5.."}[5m])) / sum(rate(r[5m]))' })],
  ])('would be reported for a mistake: %s', (mistake, wrong) => {
    expect(dashboardMistakes(wrong)).toContainEqual(expect.stringContaining(mistake));
  });
});
