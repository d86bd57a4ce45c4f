import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readContainersSection } from '../support/compose-file.ts';
import { startComposed } from '../support/composed-gatehouse.ts';
import type { ComposedGatehouse } from '../support/composed-gatehouse.ts';
import { createDashboardVisitor } from '../support/dashboard-visitor.ts';
import { parseLogLine } from '../support/gatehouse-process.ts';
import type { OneMachine } from '../support/one-machine.ts';

const root = resolve(import.meta.dirname, '../..');

/** The commands of the page's section on containers, in their order: one string for each block. */
async function blocksOfPage(): Promise<readonly string[]> {
  const section = await readContainersSection();
  return [...section.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) => block);
}

interface Job {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly containers: readonly [
          {
            readonly args: readonly string[];
            readonly env: readonly { readonly name: string; readonly value: string }[];
          },
        ];
      };
    };
  };
}

describe('docker compose up without any preparation, run as plain processes', () => {
  let blocks: readonly string[];
  let composed: ComposedGatehouse;
  let schemas: readonly string[];
  let migrated: Awaited<ReturnType<OneMachine['run']>>;

  beforeAll(async () => {
    blocks = await blocksOfPage();
    composed = await startComposed({
      async beforeProcesses({ image, machine, client }) {
        // The job of Kubernetes, which shares the image and the secrets.
        const job = parse(await readFile(join(root, 'deploy/kubernetes/migrate/job.yaml'), 'utf8')) as Job;
        const [{ args, env }] = job.spec.template.spec.containers;
        migrated = await machine.run({
          name: 'migrate',
          command: [...image.entrypoint, ...args],
          environment: Object.fromEntries(env.map(({ name, value }) => [name, value])),
        });
        const { rows } = await client.query<{ name: string }>(`
          SELECT DISTINCT table_schema AS name FROM information_schema.tables
          WHERE table_schema IN ('core', 'webhooks') ORDER BY 1`);
        schemas = rows.map(({ name }) => name);
      },
    });
  });

  afterAll(() => composed.stop());

  test('a payment in the sandbox completes through the simulator', async () => {
    const order = { order_number: 'first', amount: '150.00', currency: 'ETB', phone: '+251911223344' };
    expect(await composed.pay(order)).toBe('COMPLETED');
  });

  test('the users of the first start sign in, and its log has no secrets but says how to print them', async () => {
    const { machine, reported } = composed;
    const { users, merchant } = composed.firstStart;
    expect(reported).toContain('docker compose run --rm first-start show');
    for (const login of Object.values(users)) {
      const visitor = createDashboardVisitor(`http://127.0.0.1:${machine.portOf('dashboard:8083')}`);
      expect((await visitor.signIn(login)).status).toBe(303);
      expect((await visitor.get('/')).body).not.toContain('name="password"');
      expect(reported).not.toContain(login.password);
    }
    expect(Object.keys(users)).toEqual(['owner', 'operator']);
    expect(reported).not.toContain(merchant.test_key);
  });

  test('the migration of Kubernetes migrates the tables of both processes before they start', () => {
    expect(migrated).toMatchObject({ exitCode: 0, stderr: '' });
    const lines = migrated.stdout.trim().split('\n').map(parseLogLine);
    expect(lines.filter(({ msg }) => msg === 'migrated').map(({ tables }) => tables)).toEqual([
      'core',
      'webhooks',
    ]);
    expect(schemas).toEqual(['core', 'webhooks']);
  });

  test('every health check succeeds', async () => {
    const { services, machine, deployed, image } = composed;
    for (const checked of await composed.checkHealth()) expect(checked).toMatchObject({ exitCode: 0 });
    expect(services.filter(({ healthcheck }) => healthcheck === undefined).map(({ name }) => name)).toEqual([
      'make-secrets',
      'first-start',
    ]);
    // In a container in which nothing listens.
    const idle = { ...deployed('core', image.healthcheck), name: 'idle' };
    expect(await machine.run(idle)).toMatchObject({ exitCode: 1, stderr: 'not healthy: nothing listens\n' });
  });

  test('a later start keeps the secrets and the users', async () => {
    const { folder, machine, deployed, reported } = composed;
    const store = join(folder, 'run/gatehouse/make-secrets/secrets.json');
    const kept = await readFile(store, 'utf8');
    expect((await stat(store)).mode & 0o777).toBe(0o600);

    const again = await machine.run(deployed('make-secrets'));
    expect(again).toMatchObject({ exitCode: 0, stderr: '' });
    expect(await readFile(store, 'utf8')).toBe(kept);
    expect(await machine.run(deployed('first-start'))).toMatchObject({
      exitCode: 0,
      stdout: reported.split('\n').slice(-3).join('\n'),
    });
  });

  test('the commands of the page create a merchant with a key and a webhook secret, invite people who sign in, and find no fault', async () => {
    const { machine, deployed } = composed;
    const lines = (blocks[1] ?? '').trim().split('\n');
    const links = new Map<string, string>();
    for (const line of lines) {
      const [, service = '', words = ''] = /^docker compose exec (\S+) (gatehouse .*)$/.exec(line) ?? [];
      const args = (words.match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replace(/^"(.*)"$/, '$1'));
      const command = [join(root, 'scripts/gatehouse'), ...args.slice(1)].map((word) =>
        word.replace('<merchant_id>', links.get('merchant') ?? ''),
      );
      const { exitCode, stdout, stderr } = await machine.run(deployed(service, command));
      const failed = exitCode === 0 ? '' : stdout;
      expect({ line, exitCode, stderr, failed }).toEqual({ line, exitCode: 0, stderr: '', failed: '' });
      const [merchant] = /mer_\w+/.exec(stdout) ?? [];
      if (line.includes('merchant create')) links.set('merchant', merchant ?? '');
      const [, email] = / user invite (\S+)/.exec(line) ?? [];
      if (email === undefined) continue;
      const [link = ''] = /^http:\/\/\S+$/m.exec(stdout) ?? [];
      links.set(email, link);
    }
    links.delete('merchant');
    expect(lines.map((line) => line.split(' ').slice(5, 7).join(' '))).toEqual(
      expect.arrayContaining(['merchant create', 'key issue', 'user invite']),
    );
    expect(links.size).toBe(2);

    for (const [email, link] of links) {
      const { origin, pathname } = new URL(link);
      expect(origin).toBe(`http://127.0.0.1:${machine.portOf('dashboard:8083')}`);
      const password = 'a sentence that nobody guesses';
      const invited = createDashboardVisitor(origin);
      await invited.get(pathname);
      const accepted = await invited.post(pathname, {
        name: 'First person',
        password,
        password_again: password,
      });
      expect({ email, status: accepted.status, body: accepted.body }).toMatchObject({ email, status: 303 });

      const later = createDashboardVisitor(origin);
      const signedIn = await later.signIn({ email, password });
      expect(signedIn.status).toBe(303);
      expect((await later.get('/')).body).not.toContain('name="password"');
    }
  });

  test('a first start creates nothing in a gateway that has users, and invites the operator whom .env names', async () => {
    const { folder, machine, deployed } = composed;
    const again = deployed('first-start');
    const own = { ...again.environment, GATEHOUSE_FIRST_START_FOLDER: join(folder, 'again') };
    const show = { ...deployed('first-start', [...again.command, 'show']), environment: own };
    expect((await machine.run(show)).stdout).toContain(
      'or it made nothing, because Gatehouse already had merchants or operators',
    );
    const unneeded = await machine.run({ ...again, environment: own });
    expect(unneeded).toMatchObject({ exitCode: 0, stderr: '' });
    expect(unneeded.stdout).toMatch(/^Gatehouse is ready\. Sign in at \S+\n$/);
    expect(existsSync(join(folder, 'again/first-start.json'))).toBe(false);

    const withOperator = { ...own, GATEHOUSE_FIRST_OPERATOR: 'first@pay.example' };
    const invited = await machine.run({ ...again, environment: withOperator });
    expect(invited).toMatchObject({ exitCode: 0, stderr: '' });
    const made = JSON.parse(await readFile(join(folder, 'again/first-start.json'), 'utf8')) as object;
    expect(made).not.toHaveProperty('merchant');
    expect(made).toMatchObject({
      expire_time: expect.stringMatching(/^20\d\d-/) as unknown,
      new_invitation_command: 'gatehouse user invite first@pay.example --operator',
    });
    const { origin, pathname } = new URL((made as { invitation: string }).invitation);
    expect((await createDashboardVisitor(origin).get(pathname)).body).toContain('first@pay.example');
  });

  test('a damaged file of secrets is not replaced by new secrets', async () => {
    const { folder, machine, deployed } = composed;
    const secrets = join(folder, 'damaged');
    await mkdir(join(secrets, 'make-secrets'), { recursive: true });
    await writeFile(join(secrets, 'make-secrets/secrets.json'), '{"FACADE_TOKEN":');
    const make = deployed('make-secrets');
    const environment = { ...make.environment, GATEHOUSE_SECRETS_FOLDER: secrets };
    expect(await machine.run({ ...make, environment })).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining(
        'secrets.json is not a JSON object with only strings as values. Correct it, or restore it from a backup',
      ),
    });
    expect(await readdir(secrets)).toEqual(['make-secrets']);
  });
});
