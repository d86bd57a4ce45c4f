import { generateKeyPairSync } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { allFaults, faultName, readFaults } from '../../../src/cli/prove/faults.ts';
import {
  fingerprintOf,
  newSigningKey,
  publicKeyOf,
  signReport,
  verifyReport,
} from '../../../src/cli/prove/report.ts';
import type { ProveReport } from '../../../src/cli/prove/report.ts';
import { proveTools } from '../../../src/main/prove/prove-tools.ts';
import { runCommand } from '../../support/run-command.ts';
import { sharedFolder } from '../../support/shared-folder.ts';

const report: ProveReport = {
  verdict: 'failed',
  reasons: ['charged_at_most_once is broken (1)'],
  gatehouse: { version: '1.0.0', commit: '' },
  machine: { system: '', processors: '', memory_bytes: 1, node: '', database: '', file_system: '' },
  campaign: {
    ...{ seed: 1, rounds: 1, rate_per_second: 1, faults: [], began_at: '', ended_at: '', seconds: 1 },
    settled_after_seconds: 0,
  },
  configuration: {
    ...{ database: '', broker: '', settings: {}, settings_of_the_campaign: {}, settings_left_out: [] },
  },
  counts: { orders_acknowledged: 5 },
  invariants: [],
  faults: [],
};
const key = newSigningKey();
const file = signReport(report, key);

describe('a report', () => {
  test('is verified with the key that signed it', () => {
    expect(verifyReport(file)).toEqual({ report, publicKey: publicKeyOf(key) });
    expect(fingerprintOf(publicKeyOf(key))).toMatch(/^SHA256:[A-Za-z0-9+/]{43}$/);
  });

  const folder = sharedFolder();
  test('is compared with the key in a folder that is named from where the command runs', async () => {
    await writeFile(join(folder, 'signing-key.pem'), key);
    const words = ['prove', 'verify', 'report.json', '--folder', relative(process.cwd(), folder), '--json'];
    const { stdout } = await runCommand(
      words,
      {},
      {
        readInput: () => Promise.resolve(file),
        proveTools: proveTools({}, join(process.cwd(), 'src')),
      },
    );
    expect(JSON.parse(stdout)).toMatchObject({ key_known: true });
  });

  test.each([
    ['a verdict', file.replace('"failed"', '"passed"')],
    ['a count', file.replace('"orders_acknowledged": 5', '"orders_acknowledged": 6')],
    ['a second value of the same name', file.replace('"verdict"', '"verdict": "passed",\n    "verdict"')],
    ['an additional verdict', file.replace('"report"', '"verdict": "passed",\n  "report"')],
    ['names in another order', file.replace(/("version": "1.0.0"),(\s+)("commit": "")/, '$3,$2$1')],
    ['another key', file.replace(publicKeyOf(key), publicKeyOf(newSigningKey()))],
    ['a text that is not JSON', 'passed'],
  ])('with %s is refused', (_change, changed) => {
    expect(changed).not.toBe(file);
    expect(verifyReport(changed)).toEqual({ problem: expect.any(String) });
  });

  test('is signed by an Ed25519 key only', () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    expect(() => signReport(report, pem)).toThrow('not an Ed25519 key');
  });
});

describe('--only', () => {
  test.each([
    ['core:kill', ['core:kill']],
    [
      'broker, core:kill',
      ['core:kill', 'broker:kill', 'broker:stop', 'broker:freeze', 'broker:network', 'broker:disk'],
    ],
    ['disk,database:disk', allFaults.filter(({ kind }) => kind === 'disk').map(faultName)],
  ])('%s selects these faults once', (text, chosen) => {
    expect(readFaults(text)?.map(faultName)).toEqual(chosen);
  });

  test.each(['', 'cores', 'core:burn', 'kill:core', 'core:kill:kill', 'core,'])('%j is refused', (text) => {
    expect(readFaults(text)).toBeUndefined();
  });
});
