import { describe, expect, test } from '@jest/globals';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AccountHelp, AccountService } from '../../src/gen/gatehouse/v1/account_service_pb.js';
import { makeOperatorsOld } from '../support/dashboard-users.ts';
import { addMembers } from '../support/many-members.ts';
import { sharedMerchant, sharedStack } from '../support/shared-stack.ts';
import { openCommandLine, sharedCommandLine, widthOf } from './cli-harness.ts';

const dashboard = 'https://pay.example';
const password = 'correct horse battery';

const stack = sharedStack({ facades: 0 });
const cli = sharedCommandLine(stack, () => ({ GATEHOUSE_DASHBOARD_BASE_URL: dashboard }));
const merchant = sharedMerchant(stack);

const invite = (email: string, role = 'owner') =>
  cli.json('user', 'invite', email, '--merchant', merchant.id, '--role', role);
const tokenIn = (link: unknown): string => String(link).split('/').at(-1) ?? '';
const accept = (link: unknown) =>
  stack
    .client(AccountService, 'dashboard')
    .acceptInvitation({ token: tokenIn(link), name: 'Abebe', password });

describe('user invite', () => {
  test('prints a working link to the dashboard, and no other secret', async () => {
    const args = ['user', 'invite', 'owner@shop.example', '--merchant', merchant.id, '--role', 'owner'];
    const { exitCode, stdout, stderr } = await cli.run(...args, '--valid-for', '24h');
    const link = /^https:\/\/pay\.example\/invitation\/[\w-]{43}$/m.exec(stdout)?.[0];

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toContain('works once');
    expect(widthOf(stdout)).toBeLessThanOrEqual(100);
    expect((await accept(link)).user).toMatchObject({ email: 'owner@shop.example' });
  });

  test('refuses an existing member, and names the command that lists users', async () => {
    await accept((await invite('there@shop.example', 'viewer'))['link']);
    const { exitCode, stderr } = await cli.run(
      ...['user', 'invite', 'there@shop.example', '--merchant', merchant.id, '--role', 'owner'],
    );
    expect(exitCode).toBe(4);
    expect(stderr).toContain('user list --merchant');
  });
});

describe('user reset, remove-totp, approve and reject', () => {
  const accounts = () => stack.client(AccountService, 'dashboard');

  test('request help that an operator in the dashboard must approve, and the command line cannot', async () => {
    await accept((await invite('lost@shop.example'))['link']);
    const { link } = await cli.json('user', 'invite', 'approver@gateway.example', '--operator');
    const { user: operator } = await accept(link);
    await makeOperatorsOld(stack);
    const asOperator = { headers: { 'x-gatehouse-actor': operator?.userId ?? '' } };
    const help = { email: 'lost@shop.example', help: AccountHelp.NEW_PASSWORD };

    const asked = await cli.run('user', 'reset', 'lost@shop.example');
    const own = await cli.run('user', 'approve', 'lost@shop.example');
    const listed = await cli.run('user', 'help-list');
    const { token } = await accounts().approveAccountHelp(help, asOperator);

    expect(asked).toMatchObject({ exitCode: 0, stderr: '' });
    expect(asked.stdout).toContain('Another operator must approve');
    expect(asked.stdout).not.toContain('/reset/');
    expect(own.exitCode).toBe(4);
    expect(own.stderr).toContain('on the page Users');
    expect(listed.stdout).toMatch(/lost@shop\.example +new_password/);
    expect(token).toMatch(/^[\w-]{43}$/);

    await accounts().requestAccountHelp(help, asOperator);
    const approved = await cli.json('user', 'approve', 'lost@shop.example');
    expect(approved['link']).toMatch(/^https:\/\/pay\.example\/reset\/[\w-]{43}$/);
    await cli.json('user', 'reset', 'lost@shop.example');
    expect(await cli.json('user', 'reject', 'lost@shop.example')).toMatchObject({ was_absent: false });
    expect((await cli.run('user', 'reject', 'lost@shop.example')).stdout).toContain('Nothing changed');
    expect((await cli.json('user', 'help-list'))['requests']).toEqual([]);
    expect((await cli.run('user', 'remove-totp', 'lost@shop.example')).stderr).toContain('no one-time codes');
  });

  test('report an unknown address', async () => {
    const { exitCode, stderr } = await cli.run('user', 'reset', 'nobody@shop.example');
    expect(exitCode).toBe(3);
    expect(stderr).toContain('user list');
  });
});

describe('user list, disable, enable and remove', () => {
  test('list, disable, enable and remove users and invitations', async () => {
    const { id: merchant } = await stack.createMerchant();
    const nobody = await cli.run('user', 'list', '--merchant', merchant);
    expect(nobody.stdout).toContain(`user invite <email> --merchant ${merchant} --role owner`);
    for (const email of ['first@shop.example', 'second@shop.example'])
      await accept(
        (await cli.json('user', 'invite', email, '--merchant', merchant, '--role', 'owner'))['link'],
      );
    await cli.json('user', 'invite', 'third@shop.example', '--merchant', merchant, '--role', 'viewer');

    expect(await cli.json('user', 'disable', 'first@shop.example')).toMatchObject({ is_disabled: true });
    const { stdout } = await cli.run('user', 'list', '--merchant', merchant);
    expect(stdout).toMatch(new RegExp(`^Users of merchant ${merchant}\n\nEMAIL`));
    expect(stdout).toMatch(/first@shop\.example +owner +disabled/);
    expect(stdout).toMatch(/third@shop\.example +viewer +invited until/);
    expect(widthOf(stdout)).toBeLessThanOrEqual(100);
    expect(await cli.json('user', 'enable', 'first@shop.example')).toMatchObject({ is_disabled: false });

    for (const email of ['first@shop.example', 'third@shop.example'])
      expect(await cli.json('user', 'remove', email, '--merchant', merchant)).toMatchObject({
        was_absent: false,
      });
    expect((await cli.run('user', 'remove', 'tihrd@shop.example', '--merchant', merchant)).stdout).toContain(
      `Nothing changed: tihrd@shop.example is not a user of ${merchant}, and not invited.`,
    );
    expect((await cli.run('user', 'remove', 'tihrd@shop.example', '--operator')).stdout).toContain(
      'gatehouse user disable tihrd@shop.example',
    );
    const last = await cli.run('user', 'remove', 'second@shop.example', '--merchant', merchant);
    expect(last.exitCode).toBe(4);
    expect(last.stderr).toContain('--role owner');
    const { users, invitations } = await cli.json('user', 'list', '--merchant', merchant);
    expect(users).toMatchObject([{ email: 'second@shop.example', memberships: [{ role: 'owner' }] }]);
    expect(invitations).toEqual([]);
  });

  test('list says that there are more than 500, and --text finds the others', async () => {
    const { id: merchant } = await stack.createMerchant();
    await addMembers(stack.databaseUrl, merchant, 501);
    const list = async (...own: readonly string[]) =>
      (await cli.run('user', 'list', '--merchant', merchant, ...own)).stdout;

    const all = await list();
    const found = await list('--text', 'Person 1500');

    expect([all.includes('Person 1500'), all.includes('There are more, which --text finds.')]).toEqual([
      false,
      true,
    ]);
    expect([found.includes('Person 1500'), found.includes('There are more')]).toEqual([true, false]);
    expect(await list('--text', 'nobody')).toBe('No address and no name contains this text.\n');
  });
});

test('audit list names the author of each change, and has filters', async () => {
  const { entries } = await cli.json(
    ...['audit', 'list', '--merchant', merchant.id, '--kind', 'user', '--limit', '1'],
  );
  expect(entries).toMatchObject([{ action: expect.stringMatching(/^user\./) }]);
  const { stdout } = await cli.run('audit', 'list', '--kind', 'user', '--since', '1h');
  expect(stdout).toContain('owner@shop.example');

  const misspelled = await cli.run('audit', 'list', '--kind', 'users');
  expect(misspelled).toMatchObject({ exitCode: 2, stdout: '' });
  expect(misspelled.stderr).toMatch(/no kind users\nUse one of: user, session, api_key, /);
});

test('links lead to the dashboard of demo.json when npm start runs core', async () => {
  const other = await openCommandLine({});
  const demo = {
    grpc: stack.addresses[0],
    rest: { production: 'http://127.0.0.1:1', sandbox: 'http://127.0.0.1:2' },
    dashboard: 'http://127.0.0.1:8083',
    tokens: { operator: stack.tokens.operator },
  };
  await writeFile(join(other.dataFolder, 'demo.json'), JSON.stringify(demo));
  try {
    const { link } = await other.json('user', 'invite', 'local@gateway.example', '--operator');
    expect(String(link)).toMatch(/^http:\/\/127\.0\.0\.1:8083\/invitation\//);
  } finally {
    await other.stop();
  }
});
