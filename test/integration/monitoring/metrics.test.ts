import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { findPromtool } from '../../../scripts/promtool.ts';
import { alerts } from '../../../scripts/monitoring/alerts.ts';
import { rows } from '../../../scripts/monitoring/dashboard-rows.ts';
import { files } from '../../../scripts/monitoring/main.ts';
import { CheckoutService } from '../../../src/gen/gatehouse/v1/checkout_service_pb.js';
import { sharedStack } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';

const stack = sharedStack({
  wallets: 1,
  checkouts: 1,
  dashboards: 1,
  webhooks: 1,
  settings: { GATEHOUSE_METRICS_PORT: '0' },
});
const folder = join(import.meta.dirname, '../../../deploy/monitoring');
const promtool = findPromtool();
const checked = promtool === undefined ? test.skip : test;

const pageAt = async (url: unknown): Promise<string> => {
  const answer = await fetch(String(url));
  expect(answer.status).toBe(200);
  return answer.text();
};
/** The metrics of each process, by its name. */
async function pages(): Promise<Record<string, string>> {
  const own = {
    'rest-facade': stack.facades[0]?.process,
    checkout: stack.checkouts[0]?.process,
    dashboard: stack.dashboards[0]?.process,
    wallets: stack.wallets[0],
  };
  const found: Record<string, string> = {
    core: await pageAt(`http://${String(stack.cores[0]?.ready['connect'])}/metrics`),
    webhooks: await pageAt(`http://${String(stack.webhooks[0]?.ready['connect'])}/metrics`),
  };
  for (const [name, process] of Object.entries(own)) found[name] = await pageAt(process?.ready['metrics']);
  return found;
}

const verify = (key: string, headers: Record<string, string> = {}) =>
  fetch(`${stack.facades[0]?.sandbox ?? ''}/api/v1/verify`, {
    method: 'POST',
    headers: { apiKey: key, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ order_number: 'M-1' }),
  });

test('requests are counted by listener, route and status, and paths of clients are no routes', async () => {
  const { testKey } = await stack.createMerchant();
  const register = await fetch(
    `${stack.facades[0]?.sandbox ?? ''}/api/v1/direct?payment_option=walleta_ussd`,
    {
      method: 'POST',
      headers: { apiKey: testKey, 'content-type': 'application/json' },
      body: JSON.stringify({
        order_number: 'M-1',
        amount: '10.00',
        currency: 'ETB',
        phone: '0911000001',
      }),
    },
  );
  expect(register.status).toBe(201);
  await waitUntil('the payment has ended', async () => {
    const answer = await (await verify(testKey, { prefer: 'wait=5' })).json();
    return (answer as { data: { status: string } }).data.status === 'COMPLETED';
  });
  await verify('svc_test_wrong');
  for (const origin of [stack.facades[0]?.sandbox, stack.checkouts[0]?.origin, stack.dashboards[0]?.origin])
    await fetch(`${origin ?? ''}/of/a/client/${crypto.randomUUID()}`);

  const shown = await pages();
  const counted = (process: string, labels: string): number =>
    Number(
      new RegExp(`^gatehouse_http_request_duration_seconds_count\\{${labels}\\} ([0-9]+)$`, 'm').exec(
        shown[process] ?? '',
      )?.[1],
    );
  const sandbox = 'listener="sandbox",method="POST"';
  expect(counted('rest-facade', `${sandbox},route="/api/v1/direct",status="201"`)).toBe(1);
  expect(counted('rest-facade', `${sandbox},route="/api/v1/verify",status="401"`)).toBe(1);
  expect(
    counted('rest-facade', `${sandbox},route="/api/v1/verify \\(waiting\\)",status="200"`),
  ).toBeGreaterThan(0);
  for (const [process, listener] of [
    ['rest-facade', 'sandbox'],
    ['checkout', 'checkout'],
    ['dashboard', 'dashboard'],
  ] as const)
    expect(counted(process, `listener="${listener}",method="GET",route="none",status="404"`)).toBe(1);
  expect(Object.values(shown).join('\n')).not.toContain('of/a/client');
  expect(Object.values(shown).join('\n')).not.toMatch(/mer_|svc_test_|0911000001|251911000001/);
  expect(shown['rest-facade']).toMatch(/^gatehouse_http_requests_in_flight\{listener="sandbox"\} 0$/m);
  expect(shown['wallets']).toMatch(
    /^gatehouse_wallet_call_duration_seconds_count\{wallet="walleta",environment="sandbox",result="answered"\} [1-9]/m,
  );
  expect(shown['core']).toMatch(
    /^gatehouse_rpc_duration_seconds_count\{service="OrderService",method="[A-Za-z]+",role="facade",code="ok"\} [1-9]/m,
  );
});

test('a call that fails is counted with its code', async () => {
  const call = stack.client(CheckoutService, 'checkout').getCheckout({ token: 'unknown', browserSecret: '' });
  await expect(call).rejects.toThrow();
  expect((await pages())['core']).toMatch(
    /^gatehouse_rpc_duration_seconds_count\{service="CheckoutService",method="GetCheckout",role="checkout",code="[a-z_]+"\} 1$/m,
  );
});

test('the port of the metrics has no other page, and the listeners for merchants and customers have no metrics', async () => {
  const metrics = new URL(String(stack.facades[0]?.process.ready['metrics']));
  expect((await fetch(new URL('/', metrics))).status).toBe(404);
  expect((await fetch(metrics, { method: 'POST' })).status).toBe(404);
  for (const origin of [
    stack.facades[0]?.sandbox,
    stack.facades[0]?.production,
    stack.checkouts[0]?.origin,
    stack.dashboards[0]?.origin,
  ])
    expect((await fetch(`${origin ?? ''}/metrics`)).status).toBe(404);
});

test('each metric of an alert or a panel is shown by some process', async () => {
  const shown = Object.values(await pages()).join('\n');
  const names = new Set(
    [...shown.matchAll(/^# TYPE (\S+) (\S+)/gm)].flatMap(([, name = '', type]) =>
      type === 'histogram' ? [name, `${name}_count`, `${name}_bucket`, `${name}_sum`] : [name],
    ),
  );
  const used = [
    ...alerts.map(({ expr }) => expr),
    ...rows.flatMap(({ panels }) => panels.flatMap(({ queries }) => queries.map(([expr]) => expr))),
  ].flatMap((expr) => expr.match(/\b(?:gatehouse|process|nodejs)_[a-z0-9_]+\b/g) ?? []);
  expect(used.length).toBeGreaterThan(alerts.length);
  expect(used.filter((name) => !names.has(name))).toEqual([]);
});

test('the files of deploy/monitoring are those that are written, and each alert has a section that says what to do', async () => {
  for (const [path, text] of Object.entries(files))
    expect({ path, text: await readFile(join(folder, path), 'utf8') }).toEqual({ path, text });
  const sections = (await readFile(join(folder, '../../docs/operating/alerts.md'), 'utf8'))
    .split(/^## /m)
    .slice(1);
  expect(sections.map((section) => section.split('\n')[0])).toEqual(alerts.map(({ name }) => name));
  for (const section of sections) expect(section).toMatch(/^(?:Page|Ticket)\. [\s\S]+\n\n1\. /m);
  for (const { name, severity } of alerts)
    expect(
      sections
        .find((section) => section.startsWith(`${name}\n`))
        ?.split('\n')[2]
        ?.toLowerCase(),
    ).toMatch(new RegExp(`^${severity}\\.`));
});

checked('promtool accepts the configuration, the alerts, and the metrics of every process', async () => {
  const run = (args: readonly string[], input?: string) => {
    const { status, stdout, stderr } = spawnSync(promtool ?? '', args, { input, encoding: 'utf8' });
    return { status, output: stdout + stderr };
  };
  expect(run(['check', 'config', join(folder, 'prometheus.yml')])).toMatchObject({ status: 0 });
  // Debian's promtool does not know the discovery of Kubernetes, so a static target stands for it.
  const inCluster = await readFile(join(folder, 'prometheus-kubernetes.yml'), 'utf8');
  const withTarget = inCluster
    .replace(/kubernetes_sd_configs:\n.*role: pod\n.*\n/, 'static_configs: [{ targets: [localhost] }]\n')
    .replace('[alerts.yml]', `[${join(folder, 'alerts.yml')}]`);
  expect(withTarget).toContain('static_configs');
  const own = await mkdtemp(join(tmpdir(), 'gatehouse-prometheus-'));
  await writeFile(join(own, 'prometheus.yml'), withTarget);
  expect(run(['check', 'config', join(own, 'prometheus.yml')])).toMatchObject({ status: 0 });
  await rm(own, { recursive: true });
  expect(run(['test', 'rules', join(import.meta.dirname, 'alerts.yml')])).toMatchObject({ status: 0 });
  for (const page of Object.values(await pages())) {
    const { output } = run(['check', 'metrics'], page);
    expect(output.split('\n').filter((line) => line.startsWith('gatehouse_'))).toEqual([]);
  }
});
