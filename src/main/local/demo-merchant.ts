import { Type } from '@sinclair/typebox';
import type { Static } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import type { Client, Transport } from '@connectrpc/connect';
import { ApiKeyScope, ApiKeyService } from '../../gen/gatehouse/v1/api_key_service_pb.js';
import { MerchantService } from '../../gen/gatehouse/v1/merchant_service_pb.js';
import type { CreateMerchantResponse } from '../../gen/gatehouse/v1/merchant_service_pb.js';
import { Environment } from '../../gen/gatehouse/v1/order_pb.js';
import { reasonOf } from '../../platform/rpc/rpc-error.ts';
import { parseJson } from '../../platform/parse-json.ts';

const DemoMerchant = Type.Object({ id: Type.String(), test_key: Type.String(), live_key: Type.String() });
/** The demo merchant, and its keys. */
export type DemoMerchant = Static<typeof DemoMerchant>;
/** The demo merchant of an earlier start, with its signing secrets. */
const KeptMerchant = Type.Composite([
  DemoMerchant,
  Type.Object({ test_webhook_secret: Type.String(), live_webhook_secret: Type.String() }),
]);
export type KeptMerchant = Static<typeof KeptMerchant>;

export const demoMerchantName = 'Demo merchant';
const keyLabel = 'demo.json';
const maxMerchants = 500;

/** Reads the demo merchant of an earlier start from demo.json; undefined when it is absent. */
export function readDemoMerchant(text: string | undefined): KeptMerchant | undefined {
  const content = parseJson(text ?? '');
  return Value.Check(Type.Object({ merchant: KeptMerchant }), content) ? content.merchant : undefined;
}

async function orUndefined<T>(code: Code, call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof ConnectError && error.code === code) return undefined;
    throw error;
  }
}

async function isValidKey(facade: Client<typeof ApiKeyService>, apiKey: string, environment: Environment) {
  try {
    await facade.authenticateApiKey({ apiKey, environment });
    return true;
  } catch (error) {
    if (!(error instanceof ConnectError)) throw error;
    // The key is valid, but an operator has suspended its merchant.
    if (error.code === Code.PermissionDenied) return true;
    if (error.code === Code.Unauthenticated) return false;
    throw error;
  }
}

async function findMerchant(merchants: Client<typeof MerchantService>, kept: DemoMerchant | undefined) {
  const known = kept && (await orUndefined(Code.NotFound, merchants.getMerchant({ merchantId: kept.id })));
  if (known?.merchant !== undefined) return known.merchant.merchantId;
  const { merchants: all } = await merchants.listMerchants({ pageSize: maxMerchants });
  return all.find((merchant) => merchant.name === demoMerchantName)?.merchantId;
}

/**
 * With production, unless the deployment requires a certification first. Undefined while a restore may have lost merchants, because
 * core creates no others then.
 */
async function createMerchant(
  merchants: Client<typeof MerchantService>,
): Promise<CreateMerchantResponse | undefined> {
  const activated = merchants.createMerchant({ name: demoMerchantName, productionActivated: true });
  try {
    return (
      (await orUndefined(Code.FailedPrecondition, activated)) ??
      (await merchants.createMerchant({ name: demoMerchantName }))
    );
  } catch (error) {
    if (reasonOf(ConnectError.from(error)) === 'MERCHANTS_LOST') return undefined;
    throw error;
  }
}

/**
 * Ensures that there is a demo merchant with a working test key and live key. It reuses the one of an earlier start
 * with its keys, else the one in the database with new keys. Otherwise it creates a merchant. Undefined if there is none, and a restore may
 * have lost merchants.
 */
export async function ensureDemoMerchant(options: {
  readonly operator: Transport;
  readonly facade: Transport;
  readonly kept: DemoMerchant | undefined;
  readonly report: (line: string) => void;
}): Promise<DemoMerchant | undefined> {
  const { kept, report } = options;
  const merchants = createClient(MerchantService, options.operator);
  const keys = createClient(ApiKeyService, options.operator);
  const facade = createClient(ApiKeyService, options.facade);

  const existing = await findMerchant(merchants, kept);
  const created = existing === undefined ? await createMerchant(merchants) : undefined;
  const id = existing ?? created?.merchant?.merchantId;
  if (id === undefined) return undefined;

  const keyFor = async (environment: Environment, keptKey: string | undefined) => {
    if (keptKey !== undefined && kept?.id === id && (await isValidKey(facade, keptKey, environment)))
      return keptKey;
    // The examples of the documentation refund in the sandbox.
    const scopes = environment === Environment.SANDBOX ? [ApiKeyScope.REFUNDS] : [];
    const { secret } = await keys.issueApiKey({ merchantId: id, environment, label: keyLabel, scopes });
    return secret;
  };
  const test_key = await keyFor(Environment.SANDBOX, kept?.test_key);
  const live_key = await keyFor(Environment.PRODUCTION, kept?.live_key);
  if (created?.merchant?.productionActivated === false)
    report(`Demo merchant ${id} created. GATEHOUSE_REQUIRED_CERTIFICATION keeps it in the sandbox`);
  else if (created !== undefined) report(`Demo merchant ${id} created`);
  else if (test_key !== kept?.test_key || live_key !== kept.live_key)
    report(
      `Demo merchant ${id} has new keys, because demo.json lacks the earlier ones, or they are no longer valid`,
    );
  return { id, test_key, live_key };
}
