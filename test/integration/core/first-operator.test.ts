import { beforeEach, expect, test } from '@jest/globals';
import { inviteFirstOperator } from '../../../src/main/local/first-operator.ts';
import { AccountService } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import { sharedClient, sharedConnection, sharedStack } from '../../support/shared-stack.ts';

const stack = sharedStack({ cores: 1, facades: 0 });
const accounts = sharedClient(stack, AccountService, 'operator');
const database = sharedConnection(() => stack.databaseUrl);
const email = 'first@pay.example';

beforeEach(() => database.query('truncate core.account_links, core.users cascade'));

const invite = (kept?: string) =>
  inviteFirstOperator({ accounts, email, dashboardUrl: 'https://pay.example', kept });
test('a start that was interrupted before it wrote the link invites again', async () => {
  const lost = await invite();

  const again = await invite();

  expect(lost).toMatchObject({
    invitation: expect.stringContaining('https://pay.example/invitation/') as unknown,
    expire_time: expect.stringMatching(/^20\d\d-.*Z$/) as unknown,
    new_invitation_command: 'gatehouse user invite first@pay.example --operator',
  });
  expect(again?.invitation).not.toBe(lost?.invitation);
  expect(again?.invitation).toContain('https://pay.example/invitation/');
});

test('a later start keeps an open invitation, and replaces one that has expired', async () => {
  const kept = JSON.stringify(await invite());

  const open = await invite(kept);
  await database.query("update core.account_links set expires_at = now() - interval '1 minute'");
  const expired = await invite(kept);

  expect(open).toBeUndefined();
  expect(expired?.invitation).toContain('https://pay.example/invitation/');
});

test('a deployment with a demo gets no operator later', async () => {
  expect(await invite(JSON.stringify({ users: {}, merchant: {} }))).toBeUndefined();
});
