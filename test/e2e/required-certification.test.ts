import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { certificationChecks } from '../../src/contract/certification-checks.ts';
import type { CertificationPart } from '../../src/contract/certification-checks.ts';
import { randomSecret } from '../../src/cli/certify/receiver-answers.ts';
import { AuditService } from '../../src/gen/gatehouse/v1/audit_service_pb.js';
import {
  CertificationPart as Part,
  CertificationResult as Result,
  MerchantService,
} from '../../src/gen/gatehouse/v1/merchant_service_pb.js';
import { openDashboardDesk } from '../integration/dashboard/dashboard-desk.ts';
import { brokenReceivers, goodReceiver, startWebhookReceiver } from '../integration/cli/webhook-receivers.ts';
import type { RunningReceiver } from '../integration/cli/webhook-receivers.ts';
import { failureOf, wrongFields } from '../support/rpc-failure.ts';
import { sharedClient, sharedStack } from '../support/shared-stack.ts';
import { openCommandLine, operatorSettings, widthOf } from './cli-harness.ts';
import type { CommandLine } from './cli-harness.ts';

const stack = sharedStack({
  facades: 0,
  dashboards: 1,
  settings: { GATEHOUSE_REQUIRED_CERTIFICATION: 'receiver,integration' },
});
const merchants = sharedClient(stack, MerchantService, 'operator');
const audit = sharedClient(stack, AuditService, 'operator');

const passedChecks = (part: CertificationPart) =>
  certificationChecks[part].map((name) => ({ name, result: Result.PASSED }));
const receiver = { part: Part.RECEIVER, checks: passedChecks('receiver') };
const integration = { part: Part.INTEGRATION, checks: passedChecks('integration') };
const run = { webhookUrl: 'https://shop.example/hook', apiVersion: '1.0.0' };

const newMerchant = async (): Promise<string> =>
  (await stack.createMerchant({ productionActivated: false })).id;

describe('a deployment that requires a certification', () => {
  test('activates production when the latest results of each required part certify it', async () => {
    const merchantId = await newMerchant();
    const refused = await failureOf(merchants.activateProduction({ merchantId }));
    const { certifications } = await merchants.recordCertification({ merchantId, ...run, parts: [receiver] });
    const half = await failureOf(merchants.activateProduction({ merchantId }));
    const failing = { name: 'fulfils_once', result: Result.FAILED };
    const checks = integration.checks.map((check) => (check.name === failing.name ? failing : check));
    await merchants.recordCertification({ merchantId, ...run, parts: [{ ...integration, checks }] });
    const failed = await failureOf(merchants.activateProduction({ merchantId }));
    await merchants.recordCertification({ merchantId, ...run, parts: [integration] });
    const { merchant } = await merchants.activateProduction({ merchantId });
    // Production stays activated, whatever certification is recorded later.
    await merchants.recordCertification({ merchantId, ...run, parts: [{ ...receiver, checks }] });
    const again = await merchants.activateProduction({ merchantId });
    const latest = await merchants.getCertifications({ merchantId });

    const required = { code: 'FailedPrecondition', reason: 'CERTIFICATION_REQUIRED' };
    expect([refused, half, failed]).toMatchObject([required, required, required]);
    expect(certifications).toMatchObject([{ part: Part.RECEIVER, certified: true, checks: receiver.checks }]);
    expect([merchant?.productionActivated, again.merchant?.productionActivated]).toEqual([true, true]);
    expect(latest.requiredParts).toEqual([Part.RECEIVER, Part.INTEGRATION]);
    expect(latest.certifications).toMatchObject([
      { part: Part.RECEIVER, certified: false },
      { part: Part.INTEGRATION, certified: true, webhookUrl: run.webhookUrl, apiVersion: '1.0.0' },
    ]);
    const { entries } = await audit.listAuditEntries({ merchantId });
    expect(entries.filter(({ action }) => action === 'merchant.certify')).toHaveLength(4);
    expect(entries.find(({ action }) => action === 'merchant.certify')?.details).toMatchObject({
      webhook_url: run.webhookUrl,
      not_certified: 'receiver',
    });
  });

  test('creates merchants in the sandbox only, and refuses impossible results', async () => {
    const merchantId = await newMerchant();
    const created = await failureOf(merchants.createMerchant({ name: 'Eager', productionActivated: true }));
    const unknown = 'mer_01h455vb4pex5vsknk084sn02q';

    expect(created.reason).toBe('CERTIFICATION_REQUIRED');
    expect(
      (await failureOf(merchants.recordCertification({ merchantId: unknown, ...run, parts: [receiver] })))
        .reason,
    ).toBe('MERCHANT_NOT_FOUND');
    expect((await failureOf(merchants.getCertifications({ merchantId: unknown }))).reason).toBe(
      'MERCHANT_NOT_FOUND',
    );
    for (const [parts, field] of [
      [[], 'parts'],
      [[receiver, receiver], 'parts.part'],
      [[{ checks: receiver.checks }], 'parts.part'],
      [[{ part: Part.RECEIVER, checks: [] }], 'parts.checks'],
      [[{ part: Part.RECEIVER, checks: [{ name: 'Ä', result: Result.PASSED }] }], 'parts.checks'],
      [[{ part: Part.RECEIVER, checks: [{ name: 'reachable' }] }], 'parts.checks'],
    ] as const)
      expect(
        await wrongFields(merchants.recordCertification({ merchantId, ...run, parts: [...parts] as never })),
      ).toBe(field);
  });
});

describe('the command line', () => {
  const secret = randomSecret();
  let cli: CommandLine;
  let good: RunningReceiver;
  let broken: RunningReceiver;

  beforeAll(async () => {
    cli = await openCommandLine({ ...operatorSettings(stack), GATEHOUSE_WEBHOOK_SECRET: secret });
    good = await startWebhookReceiver(goodReceiver([secret]));
    broken = await startWebhookReceiver(brokenReceivers['stale_timestamp']!([secret]));
  });

  afterAll(async () => {
    await good.close();
    await broken.close();
    await cli.stop();
  });

  test('records results with --record, shows them, and says how to get an activation', async () => {
    const merchantId = await newMerchant();

    const refused = await cli.run('merchant', 'activate-production', merchantId);
    const failed = await cli.run('certify', '--webhook-url', broken.url, '--record', merchantId);
    const shownFailed = await cli.run('merchant', 'show', merchantId);
    const certified = await cli.run('certify', '--webhook-url', good.url, '--record', merchantId, '--json');
    const shown = await cli.run('merchant', 'show', merchantId);
    const unknown = await cli.run(
      ...['certify', '--webhook-url', good.url, '--record', 'mer_01h455vb4pex5vsknk084sn02q'],
    );

    expect(refused.exitCode).toBe(4);
    expect(refused.stderr).toContain('receiver and integration');
    expect(refused.stderr).toContain('gatehouse certify --webhook-url <url> --record <merchant_id>');
    expect(failed.exitCode).toBe(1);
    expect(failed.stdout).toMatch(new RegExp(`\n\nRecorded for ${merchantId}\\.\n$`));
    expect(shownFailed.stdout).toMatch(
      /receiver NOT certified \(.+Z\)\n +integration not tested\nRequired +receiver, integration/,
    );
    expect(certified.exitCode).toBe(0);
    expect(JSON.parse(certified.stdout)).toMatchObject({ merchant_id: merchantId, recorded: true });
    expect(shown.stdout).toMatch(/receiver certified \(/);
    expect(widthOf(shown.stdout)).toBeLessThanOrEqual(100);
    // The merchant is looked up before the run.
    expect([unknown.exitCode, unknown.stdout]).toEqual([3, '']);
  });

  test('prints the report also when a token may not record it', async () => {
    const merchantId = await newMerchant();
    const reader = await openCommandLine({
      GATEHOUSE_CORE_ADDRESSES: stack.addresses.join(','),
      GATEHOUSE_SERVICE_TOKEN: stack.tokens.reader,
    });
    const secretFile = join(reader.dataFolder, 'secret');
    await writeFile(secretFile, secret);

    const args = ['certify', '--webhook-url', good.url, '--secret-file', secretFile, '--record', merchantId];
    const { exitCode, stdout } = await reader.run(...args);
    await reader.stop();

    expect(exitCode).toBe(4);
    expect(stdout).toContain('Webhook receiver: certified.');
    expect(stdout).toMatch(/NOT recorded: .+\n.+role.+\n$/);
  });
});

test('the dashboard shows what is certified, and why production is not activated', async () => {
  const desk = openDashboardDesk(stack);
  const operator = await desk.signedIn(await desk.users.operator());
  const merchantId = await newMerchant();
  await merchants.recordCertification({ merchantId, ...run, parts: [receiver] });
  const path = `/operator/merchants/${merchantId}`;
  const page = await operator.get(path);
  const seen = /name="seen" value="([^"]+)"/.exec(page.body)?.[1] ?? '';

  await operator.post(`${path}/activate`, { seen });
  const after = await operator.get(path);
  const created = await operator.post('/operator/merchants', { name: 'Eager', production: 'yes' });

  expect(page.body).toMatch(/webhook receiver: certified, .*<br>integration: required, not tested yet<br>/);
  expect(after.body).toContain('requires a certification first: integration.');
  expect(after.body).toContain(`--record ${merchantId}`);
  expect(created.status).toBe(409);
  expect(created.body).toContain('Add the merchant without production.');
});
