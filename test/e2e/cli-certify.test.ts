import { beforeAll, describe, expect, test } from '@jest/globals';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { randomSecret } from '../../src/cli/certify/receiver-answers.ts';
import { brokenReceivers, goodReceiver, startWebhookReceiver } from '../integration/cli/webhook-receivers.ts';
import type { RunningReceiver } from '../integration/cli/webhook-receivers.ts';
import { openCommandLine, widthOf } from './cli-harness.ts';
import { shared } from '../support/shared-stack.ts';

const secret = randomSecret();
const cli = shared(() => openCommandLine({}));
const [good, broken] = [goodReceiver, brokenReceivers['replayed_timestamp']!].map((receiver) =>
  shared(() => startWebhookReceiver(receiver([secret]))),
) as [RunningReceiver, RunningReceiver];
let secretFile: string;

beforeAll(async () => {
  secretFile = join(cli.dataFolder, 'secret.txt');
  await writeFile(secretFile, `${secret}\n`);
});

describe('gatehouse certify', () => {
  test('certifies a correct receiver with nothing but its URL and a file with its secret', async () => {
    const { exitCode, stdout } = await cli.run(
      ...['certify', '--webhook-url', good.url, '--secret-file', secretFile],
    );

    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^Webhook receiver\n {2}ok {2}reachable/);
    expect(stdout).toMatch(
      /\n\nWebhook receiver: certified\. 21 of 22 checks passed \(95%\), 1 not tested\.\n$/,
    );
  });

  test('names the fault of a broken receiver with its fix, in 100 columns and as JSON, and exits with code 1', async () => {
    const args = ['certify', '--webhook-url', broken.url, '--secret-file', secretFile];
    const [text, json] = await Promise.all([cli.run(...args), cli.run(...args, '--json')]);

    expect([text.exitCode, json.exitCode]).toEqual([1, 1]);
    expect(text.stdout).toMatch(/FAIL {2}replayed_timestamp .*\n +> Verify webhook-signature, which covers/);
    expect(text.stdout).toContain('replayed_timestamp must pass first:');
    expect(text.stdout).toContain('Webhook receiver: NOT certified. 18 of 22');
    expect(widthOf(text.stdout)).toBeLessThanOrEqual(100);
    const report = JSON.parse(json.stdout) as { checks: { result: string; name: string; fix: string }[] };
    expect(report).toMatchObject({
      certification: 1,
      webhook_url: broken.url,
      result: 'failed',
      score: 81,
      parts: [{ part: 'receiver', certified: false }],
    });
    expect(report.checks.filter(({ result }) => result === 'failed')).toMatchObject([
      { name: 'replayed_timestamp', fix: expect.stringContaining('webhook-signature') },
    ]);
    expect(text.stdout + text.stderr + json.stdout).not.toContain(secret);
  });

  test('uses the secret of npm start, and says which port is taken', async () => {
    const { port } = new URL(good.url);
    await writeFile(
      join(cli.dataFolder, 'demo.json'),
      JSON.stringify({
        grpc: '127.0.0.1:1',
        rest: { production: 'http://127.0.0.1:1', sandbox: 'http://127.0.0.1:1' },
        merchant: { id: 'mer_01m7xjbb99evv8hx2dqm5r8qgn', test_webhook_secret: secret },
        tokens: { operator: 'token' },
      }),
    );

    const taken = await cli.run('certify', '--webhook-url', good.url, '--proxy-port', port);
    const byHand = await cli.run('certify', '--webhook-url', good.url, '--proxy-port', '0', '--json');
    const { exitCode } = await cli.run('certify', '--webhook-url', good.url);

    expect([taken.exitCode, byHand.exitCode]).toEqual([2, 2]);
    expect(byHand.stderr).toContain('Add --order-url');
    expect(taken.stderr).toContain(`port ${port} cannot be used (EADDRINUSE)`);
    expect(exitCode).toBe(0);
  });
});
