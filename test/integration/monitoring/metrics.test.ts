import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { findPromtool } from '../../../scripts/promtool.ts';
import { alerts } from '../../../scripts/monitoring/alerts.ts';
import { rows } from '../../../scripts/monitoring/dashboard-rows.ts';
import { CheckoutService } from '../../../src/gen/gatehouse/v1/checkout_service_pb.js';
import { sharedStack } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { writePromtoolTests } from './situations.ts';
import { postJson } from '../../support/post-json.ts';
import { sharedFolder } from '../../support/shared-folder.ts';

const stack = sharedStack({
  wallets: 1,
  checkouts: 1,
  dashboards: 1,
  webhooks: 1,
  // Every trace is recorded, and no span is sent.
  settings: {
    GATEHOUSE_METRICS_PORT: '0',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9',
    OTEL_BSP_SCHEDULE_DELAY: '3600000',
  },
});
const folder = join(import.meta.dirname, '../../../deploy/monitoring');
const own = sharedFolder();
const promtool = findPromtool();
const checked = promtool === undefined ? test.skip : test;

/** The address of each process's metrics, by its name. */
function addresses(): Record<string, string> {
  const own = {
    'rest-facade': stack.facades[0]?.process,
    checkout: stack.checkouts[0]?.process,
    dashboard: stack.dashboards[0]?.process,
    wallets: stack.wallets[0],
  };
  return {
    core: `http://${String(stack.cores[0]?.ready['connect'])}/metrics`,
    webhooks: `http://${String(stack.webhooks[0]?.ready['connect'])}/metrics`,
    ...Object.fromEntries(
      Object.entries(own).map(([name, process]) => [name, String(process?.ready['metrics'])]),
    ),
  };
}
/** The metrics of each process, by its name. */
async function pages(headers: Record<string, string> = {}): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const [name, url] of Object.entries(addresses())) {
    const answer = await fetch(url, { headers });
    expect(answer.status).toBe(200);
    found[name] = await answer.text();
  }
  return found;
}
/** Starts a payment, with more headers. */
async function pay(key: string, orderNumber: string, headers: Record<string, string> = {}): Promise<void> {
  const url = `${stack.facades[0]?.sandbox ?? ''}/api/v1/direct?payment_option=walleta_ussd`;
  const answer = await postJson(
    url,
    { order_number: orderNumber, amount: '10.00', currency: 'ETB', phone: '0911000001' },
    { apiKey: key, ...headers },
  );
  expect(answer.status).toBe(201);
}

const verify = (key: string, headers: Record<string, string> = {}) =>
  postJson(
    `${stack.facades[0]?.sandbox ?? ''}/api/v1/verify`,
    { order_number: 'M-1' },
    { apiKey: key, ...headers },
  );

test('requests are counted by listener, route and status, and unknown paths of clients are not routes', async () => {
  const { testKey } = await stack.createMerchant();
  await pay(testKey, 'M-1');
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
  expect(Object.values(shown).join('\n')).not.toMatch(/mer_|svc_test_|(?<!\d)(0|251)911000001/);
  expect(shown['rest-facade']).toMatch(/^gatehouse_http_requests_in_flight\{listener="sandbox"\} 0$/m);
  expect(shown['wallets']).toMatch(
    /^gatehouse_wallet_call_duration_seconds_count\{wallet="walleta",environment="sandbox",result="answered"\} [1-9]/m,
  );
  expect(shown['core']).toMatch(
    /^gatehouse_rpc_duration_seconds_count\{service="OrderService",method="[A-Za-z]+",role="facade",code="ok"\} [1-9]/m,
  );
});

test('a waiting request whose client leaves counts as a waiting one, not as a slow answer', async () => {
  const { testKey } = await stack.createMerchant();
  const post = (path: string, body: object, more: Readonly<RequestInit> = {}, headers = {}) =>
    fetch(`${stack.facades[0]?.sandbox ?? ''}/api/v1/${path}`, {
      ...more,
      method: 'POST',
      headers: { apiKey: testKey, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  await post('register', {
    ...{ order_number: 'W-1', amount: '10.00', currency: 'ETB', reason: 'Coffee beans' },
    ...{ customer_phone: '0911000001', return_url: 'https://shop.example/return' },
  });
  const client = new AbortController();
  const facade = async () => (await pages())['rest-facade'] ?? '';
  const waiting = post('verify', { order_number: 'W-1' }, { signal: client.signal }, { prefer: 'wait=30' });
  await waitUntil('it waits', async () => /^gatehouse_waiting_requests 1$/m.test(await facade()));

  client.abort();
  await expect(waiting).rejects.toThrow();
  const unanswered = /route="(\/api\/v1\/verify.*)",status="none"\}/;
  await waitUntil('it is counted', async () => unanswered.test(await facade()));

  expect(unanswered.exec(await facade())?.[1]).toBe('/api/v1/verify (waiting)');
});

test('a wallet has a gauge of the work in progress and of its limit for each kind of work', async () => {
  const { wallets: shown } = await pages();
  for (const work of ['payments', 'reversals']) {
    const labels = `\\{wallet="walleta",environment="sandbox",work="${work}"\\}`;
    expect(shown).toMatch(new RegExp(`^gatehouse_wallet_work_in_flight${labels} \\d+$`, 'm'));
    expect(shown).toMatch(new RegExp(`^gatehouse_wallet_work_in_flight_limit${labels} 32$`, 'm'));
  }
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

test.each([
  ['a body that is not JSON', 'application/json', 400],
  ['an invalid content type', 'json', 415],
])('the port of the metrics answers %s with text of its own', async (_name, type, status) => {
  const answer = await fetch(String(stack.checkouts[0]?.process.ready['metrics']), {
    method: 'POST',
    headers: { 'content-type': type },
    body: '{',
  });

  expect([answer.status, answer.headers.get('content-type')]).toEqual([status, 'text/plain']);
  expect(await answer.text()).not.toContain('FST_ERR');
});

test('a recorded request is an exemplar of every process that measured it, for a client that accepts OpenMetrics', async () => {
  const { testKey } = await stack.createMerchant();
  const traceId = randomBytes(16).toString('hex');
  const traceparent = `00-${traceId}-${randomBytes(8).toString('hex')}-00`;
  await pay(testKey, 'M-2', { traceparent });
  for (const origin of [stack.checkouts[0]?.origin, stack.dashboards[0]?.origin])
    await fetch(`${origin ?? ''}/none`, { headers: { traceparent } });
  const exemplar = `_bucket\\{[^}]*\\} [0-9]+ # \\{trace_id="${traceId}"\\} [0-9.e-]+ [0-9.]+$`;
  const http = new RegExp(`^gatehouse_http_request_duration_seconds${exemplar}`, 'm');
  const rpc = new RegExp(`^gatehouse_rpc_duration_seconds${exemplar}`, 'm');
  const wallet = new RegExp(`^gatehouse_wallet_call_duration_seconds${exemplar}`, 'm');
  const expected = { 'rest-facade': http, checkout: http, dashboard: http, core: rpc, wallets: wallet };
  await waitUntil('the trace is in the metrics of each process', async () => {
    const shown = await pages({ accept: 'application/openmetrics-text;version=1.0.0;q=0.5,*/*;q=0.2' });
    return Object.entries(expected).every(([process, form]) => form.test(shown[process] ?? ''));
  });
  expect(Object.values(await pages()).join('\n')).not.toContain(traceId);
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

test('each metric under a former name names its successor, has the same value, and is listed in monitoring.md', async () => {
  const former = new Map<string, string>();
  for (const page of Object.values(await pages())) {
    const valueOf = (name: string) =>
      page
        .split('\n')
        .filter((line) => /^\w+/.exec(line)?.[0] === name)
        .map((line) => line.slice(name.length));
    for (const [, name = '', successor = ''] of page.matchAll(
      /^# HELP (\w+) Deprecated: use (\w+), which has the same value\.$/gm,
    )) {
      expect(valueOf(name)).not.toEqual([]);
      expect(valueOf(name)).toEqual(valueOf(successor));
      former.set(name, successor);
    }
  }
  const docs = await readFile(join(folder, '../../docs/operating/monitoring.md'), 'utf8');
  const [, section = ''] = docs.split('\n### Deprecated names\n');
  const listed = [...section.matchAll(/^\| `(\w+)` +\| `(\w+)` +\|$/gm)].map(([, name, successor]) => [
    name,
    successor,
  ]);
  expect(listed.length).toBeGreaterThan(0);
  expect(new Map(listed as [string, string][])).toEqual(former);
});

test('each alert has a section that says what to do', async () => {
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
  // Without blocking, so that the connections of `pages` are known to be closed when it uses them again.
  const run = async (args: readonly string[], input = '') => {
    const child = spawn(promtool ?? '', args);
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (text: Buffer) => (output += text.toString()));
    child.stdin.end(input);
    const [status] = (await once(child, 'close')) as [number | null];
    return { status, output };
  };
  for (const name of ['prometheus', 'prometheus-tls', 'prometheus-kubernetes', 'prometheus-kubernetes-tls']) {
    const text = await readFile(join(folder, `${name}.yml`), 'utf8');
    // Debian's promtool does not know the discovery of Kubernetes, so a static target stands for it.
    const known = text
      .replace(/kubernetes_sd_configs: \*pods/g, 'static_configs: *pods')
      .replace(
        /kubernetes_sd_configs:(.*)\n.*role: pod\n.*\n/,
        'static_configs:$1 [{ targets: [localhost] }]\n',
      )
      .replace('[alerts.yml]', `[${join(folder, 'alerts.yml')}]`);
    await writeFile(join(own, 'prometheus.yml'), known);
    // The certificates do not exist here.
    const args = name.endsWith('tls') ? ['--syntax-only'] : [];
    expect(await run(['check', 'config', ...args, join(own, 'prometheus.yml')])).toMatchObject({ status: 0 });
  }
  const situationFiles = await writePromtoolTests(join(folder, 'alerts.yml'), own);
  expect(await run(['test', 'rules', ...situationFiles])).toMatchObject({ status: 0 });
  for (const page of Object.values(await pages())) {
    const { output } = await run(['check', 'metrics'], page);
    // These two count days, and promtool takes them for durations.
    const lines = output.split('\n').filter((line) => !line.startsWith('gatehouse_money_days_'));
    expect(lines.filter((line) => line.startsWith('gatehouse_'))).toEqual([]);
  }
});

checked('Prometheus reads all metrics of every process, and the exemplars', async () => {
  const { testKey } = await stack.createMerchant();
  const traceId = randomBytes(16).toString('hex');
  await pay(testKey, 'M-3', { traceparent: `00-${traceId}-${randomBytes(8).toString('hex')}-00` });
  const jobs = Object.entries(addresses()).map(([name, url]) => ({
    job_name: `gatehouse-${name}`,
    static_configs: [{ targets: [new URL(url).host] }],
  }));
  const config = { global: { scrape_interval: '1s' }, scrape_configs: jobs };
  await writeFile(join(own, 'prometheus.yml'), JSON.stringify(config));
  const options = [
    '--config.file=prometheus.yml',
    '--storage.tsdb.path=data',
    '--web.listen-address=127.0.0.1:0',
  ];
  const program = promtool === 'promtool' ? 'prometheus' : join(dirname(promtool ?? ''), 'prometheus');
  const prometheus = spawn(program, [...options, '--enable-feature=exemplar-storage'], { cwd: own });
  let log = '';
  prometheus.stderr.on('data', (text: Buffer) => (log += text.toString()));
  const exited = new Promise((done) => prometheus.once('exit', done));
  try {
    const address = await waitUntil('Prometheus listens', () => /Listening on" address=(\S+)/.exec(log)?.[1]);
    const ask = async (path: string): Promise<string> =>
      (await fetch(`http://${address}/api/v1/${path}`)).text();
    const shown = Object.values(await pages()).flatMap((page) => page.match(/^[a-z][^ {]*/gm) ?? []);
    await waitUntil('Prometheus has all metrics, by their names in its own format', async () => {
      const names = await ask('label/__name__/values');
      return shown.every((name) => names.includes(`"${name}"`));
    });
    await waitUntil('Prometheus has the exemplar', async () => {
      const end = Date.now() / 1000 + 60;
      const query = `query=gatehouse_http_request_duration_seconds_bucket&start=${end - 3600}&end=${end}`;
      return (await ask(`query_exemplars?${query}`)).includes(traceId);
    });
    // A page that Prometheus cannot read makes its process seem to be down. So does one that is late on a busy machine.
    await waitUntil('no process seems to be down', async () =>
      (await ask('query?query=count(up==1)')).includes(`"${jobs.length}"]`),
    );
  } finally {
    prometheus.kill();
    await exited;
  }
});
