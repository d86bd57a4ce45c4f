import { expect, test } from '@jest/globals';
import { Command } from 'commander';
import type { CoreClients } from '../../../src/cli/core-clients.ts';
import { addVerifyCommands } from '../../../src/cli/verify-command.ts';

test.each(['', '\n', '{'])('audit verify refuses a file of roots with the content %j', async (content) => {
  const audit = new Command();
  const run = async (use: (clients: CoreClients) => Promise<unknown>) => void (await use({} as CoreClients));
  addVerifyCommands(audit, run, () => Promise.resolve(content));

  await expect(audit.parseAsync(['verify', '--root', 'root.json'], { from: 'user' })).rejects.toMatchObject({
    exitCode: 2,
    message: expect.stringContaining('root.json'),
  });
});
