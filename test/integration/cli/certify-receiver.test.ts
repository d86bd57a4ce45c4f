import { afterEach, describe, expect, test } from '@jest/globals';
import { certificationChecks, isCertified } from '../../../src/contract/certification-checks.ts';
import { certifyReceiver } from '../../../src/cli/certify/certify-receiver.ts';
import type { CheckReport } from '../../../src/cli/certify/check.ts';
import { randomSecret } from '../../../src/cli/certify/receiver-answers.ts';
import { refusingPort } from '../webhooks/receivers.ts';
import { brokenReceivers, goodReceiver, startWebhookReceiver } from './webhook-receivers.ts';
import type { Receive, RunningReceiver } from './webhook-receivers.ts';

const running: RunningReceiver[] = [];
const secrets = [randomSecret(), randomSecret()] as const;

afterEach(async () => {
  for (const receiver of running.splice(0)) await receiver.close();
});

async function certify(
  receive: Receive,
  options: { given?: readonly [string, string?]; answerMs?: number; stop?: AbortSignal } = {},
): Promise<readonly CheckReport[]> {
  const receiver = await startWebhookReceiver(receive);
  running.push(receiver);
  return certifyUrl(receiver.url, options);
}

const certifyUrl = (
  url: string,
  {
    given = secrets,
    answerMs,
    stop = new AbortController().signal,
  }: { given?: readonly [string, string?]; answerMs?: number; stop?: AbortSignal } = {},
): Promise<readonly CheckReport[]> =>
  certifyReceiver({
    url: new URL(url),
    secrets: given,
    now: () => new Date(),
    stop,
    onCheck: () => {},
    ...(answerMs === undefined ? {} : { answerMs }),
  });

const named = (checks: readonly CheckReport[], result: CheckReport['result']) =>
  checks.filter((check) => check.result === result).map(({ name }) => name);

describe('gatehouse certify, at a receiver', () => {
  test('that is correct passes every check; without a second secret, the rotation is not tested', async () => {
    const both = await certify(goodReceiver(secrets));
    const one = await certify(goodReceiver(secrets), { given: [secrets[0]] });

    expect(both.map(({ name, result }) => [name, result])).toEqual(
      certificationChecks.receiver.map((name) => [name, 'passed']),
    );
    expect(named(one, 'failed')).toEqual([]);
    expect(named(one, 'not_tested')).toEqual(['secret_rotation']);
    expect(isCertified('receiver', one)).toBe(true);
  });

  test.each(Object.entries(brokenReceivers))(
    'with the fault %s names that fault and no other',
    async (name, broken) => {
      const checks = await certify(broken(secrets), name === 'answers_in_time' ? { answerMs: 300 } : {});

      const faults = checks.filter(({ result }) => result === 'failed');
      expect(faults.map((fault) => fault.name)).toEqual([name]);
      expect(faults[0]?.fix).toMatch(/\.$/);
      expect(isCertified('receiver', checks)).toBe(false);
    },
  );

  test.each([
    [401, /secret that you gave/],
    [405, /path of the receiver/],
    [500, /receiver's own log/],
  ])('that answers %d to a genuine webhook gets the advice for that status', async (status, advice) => {
    const checks = await certify(async () => status);

    expect(checks.find(({ result }) => result === 'failed')).toMatchObject({
      name: 'accepts_genuine',
      fix: expect.stringMatching(advice),
    });
  });

  test('each check fails for at least one receiver of the table, or for an unreachable one', async () => {
    const checks = await certifyUrl(`http://127.0.0.1:${refusingPort}/`);

    expect(named(checks, 'failed')).toEqual(['reachable']);
    expect(named(checks, 'not_tested')).toEqual(certificationChecks.receiver.slice(1));
    expect(new Set(['reachable', ...Object.keys(brokenReceivers)])).toEqual(
      new Set(certificationChecks.receiver),
    );
  });

  test('an interruption leaves the rest untested, and certifies nothing', async () => {
    const stop = new AbortController();
    const checks = await certify(
      async () => {
        stop.abort();
        return 204;
      },
      { stop: stop.signal },
    );

    expect(named(checks, 'failed')).toEqual([]);
    expect(named(checks, 'not_tested')).toEqual(certificationChecks.receiver);
    expect(isCertified('receiver', checks)).toBe(false);
  });
});
