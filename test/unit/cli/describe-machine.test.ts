import { expect, test } from '@jest/globals';
import { describeMachine } from '../../../src/main/prove/describe-machine.ts';

test('the machine of a campaign is described even if its database no longer answers', async () => {
  const machine = await describeMachine('/', 'postgres://127.0.0.1:1/gone');

  expect(machine).toMatchObject({ database: 'unknown', node: process.version });
});
