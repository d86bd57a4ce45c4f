/**
 * Prepares a new deployment, once: a demo merchant with keys and users, or, with GATEHOUSE_FIRST_OPERATOR, only the invitation of
 * that operator. `first-start show` prints what it made.
 */
import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createClient } from '@connectrpc/connect';
import { str } from 'envalid';
import { createGrpcTransport } from '../contract/grpc-transport.ts';
import { AccountService } from '../gen/gatehouse/v1/account_service_pb.js';
import { MerchantService } from '../gen/gatehouse/v1/merchant_service_pb.js';
import { addresses, baseUrl, origin } from '../platform/settings/address-settings.ts';
import { createLogger } from '../platform/logger.ts';
import { readSettings } from '../platform/settings/read-settings.ts';
import { openCertificateFiles } from '../platform/tls/certificate-files.ts';
import { certificatePathsOf, tlsSettings } from '../platform/tls/tls-settings.ts';
import { demoMerchantName, ensureDemoMerchant, readDemoMerchant } from './local/demo-merchant.ts';
import { ensureDemoUsers, isDemoUser, readDemoUsers } from './local/demo-users.ts';
import { ensureWebhookSecrets } from './local/demo-webhook-secrets.ts';
import { inviteFirstOperator } from './local/first-operator.ts';
import { readIfThere, writePrivateFile } from './local/private-file.ts';
import { readSettingsOrExit } from './read-settings.ts';

const token = (role: string) => str({ desc: `the service token of the role ${role}` });
const config = readSettingsOrExit((environment) =>
  readSettings(environment, {
    ...tlsSettings,
    GATEHOUSE_FIRST_START_FOLDER: str({ desc: 'the folder for first-start.json' }),
    GATEHOUSE_FIRST_OPERATOR: str({ default: undefined }),
    GATEHOUSE_CORE_ADDRESSES: addresses({ default: ['127.0.0.1:50051'] }),
    GATEHOUSE_WEBHOOKS_ADDRESSES: addresses({ default: ['127.0.0.1:50053'] }),
    GATEHOUSE_DASHBOARD_BASE_URL: origin({ default: 'http://127.0.0.1:8083' }),
    GATEHOUSE_REST_SANDBOX_URL: baseUrl({ default: 'http://127.0.0.1:8081' }),
    GATEHOUSE_REST_PRODUCTION_URL: baseUrl({ default: 'http://127.0.0.1:8080' }),
    OPERATOR_TOKEN: token('operator'),
    FACADE_TOKEN: token('facade'),
    DASHBOARD_TOKEN: token('dashboard'),
  }),
);
// This program prints for people, and ends before a certificate is renewed.
const silentLogger = createLogger({ process: 'first-start', instance: '', level: 'silent' }, process.stderr);
const file = join(config.GATEHOUSE_FIRST_START_FOLDER, 'first-start.json');
const report = (line: string): void => console.log(line);
const text = await readIfThere(file);
const tlsPaths = certificatePathsOf(config);
const tls =
  tlsPaths && openCertificateFiles({ paths: tlsPaths, logger: silentLogger, now: () => new Date() });

const transportOf = (own: string) =>
  createGrpcTransport({ addresses: config.GATEHOUSE_CORE_ADDRESSES, token: own, tls });
const operator = transportOf(config.OPERATOR_TOKEN);
const facade = transportOf(config.FACADE_TOKEN);
const dashboard = transportOf(config.DASHBOARD_TOKEN);
const webhooks = createGrpcTransport({
  addresses: config.GATEHOUSE_WEBHOOKS_ADDRESSES,
  token: config.OPERATOR_TOKEN,
  tls,
});

const inviteOperator = (email: string) =>
  inviteFirstOperator({
    accounts: createClient(AccountService, operator),
    email,
    dashboardUrl: config.GATEHOUSE_DASHBOARD_BASE_URL,
    kept: text,
  });

/** Whether people already work here. A start that was interrupted has left the demo merchant only. */
async function isInUse(): Promise<boolean> {
  const { merchants } = await createClient(MerchantService, operator).listMerchants({ pageSize: 2 });
  const { users } = await createClient(AccountService, operator).listUsers({ merchantId: '' });
  return (
    merchants.some(({ name }) => name !== demoMerchantName) || users.some(({ email }) => !isDemoUser(email))
  );
}

async function makeDemo(): Promise<object | undefined> {
  if (await isInUse()) return undefined;
  const kept = readDemoMerchant(text);
  const merchant = await ensureDemoMerchant({ operator, facade, kept, report });
  // A restore may have lost merchants, and a recovery asks for them.
  if (merchant === undefined) return undefined;
  const merchantId = merchant.id;
  const secrets = await ensureWebhookSecrets({
    webhooks,
    merchantId,
    kept: kept?.id === merchantId ? kept : {},
    report,
  });
  const users = await ensureDemoUsers({
    operator,
    dashboard,
    merchantId,
    kept: readDemoUsers(text),
    randomBytes,
    report,
  });
  return { merchant: { ...merchant, ...secrets }, users };
}

try {
  if (process.argv[2] === 'show') {
    report(
      text?.trimEnd() ??
        `Nothing to show: ${file} does not exist. Either the first start has not ended yet (docker compose logs first-start), ` +
          'or it made nothing, because Gatehouse already had merchants or operators. To sign in then: ' +
          'docker compose exec core gatehouse user invite you@pay.example --operator',
    );
  } else {
    await mkdir(config.GATEHOUSE_FIRST_START_FOLDER, { recursive: true });
    const email = config.GATEHOUSE_FIRST_OPERATOR;
    const makeOnce = () => (text === undefined ? makeDemo() : undefined);
    const made = email === undefined ? await makeOnce() : await inviteOperator(email);
    const addressesOfPages = {
      dashboard: config.GATEHOUSE_DASHBOARD_BASE_URL,
      rest: { sandbox: config.GATEHOUSE_REST_SANDBOX_URL, production: config.GATEHOUSE_REST_PRODUCTION_URL },
    };
    if (made !== undefined)
      await writePrivateFile(file, `${JSON.stringify({ ...addressesOfPages, ...made }, undefined, 2)}\n`);
    report(`Gatehouse is ready. Sign in at ${config.GATEHOUSE_DASHBOARD_BASE_URL}`);
    if (text !== undefined || made !== undefined)
      report(
        'The logins and keys are not in the logs. To print them: docker compose run --rm first-start show',
      );
  }
} finally {
  for (const transport of [operator, facade, dashboard, webhooks]) transport.close();
}
