import { describe, expect, test } from '@jest/globals';
import { create } from '@bufbuild/protobuf';
import { Code, ConnectError, createRouterTransport } from '@connectrpc/connect';
import { ApiKeyService } from '../../../src/gen/gatehouse/v1/api_key_service_pb.js';
import { MerchantSchema, MerchantService } from '../../../src/gen/gatehouse/v1/merchant_service_pb.js';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { rpcError } from '../../../src/contract/error-reason.ts';
import { describeRunning } from '../../../src/main/local/summary.ts';
import type { DemoFile } from '../../../src/main/local/summary.ts';
import { ensureDemoMerchant, readDemoMerchant } from '../../../src/main/local/demo-merchant.ts';
import type { DemoMerchant } from '../../../src/main/local/demo-merchant.ts';

const kept: DemoMerchant = { id: 'mer_1', test_key: 'svc_test_1', live_key: 'svc_live_1' };

/** A core with these merchants (id -> name) and these valid keys. */
function coreWith(merchants: Record<string, string>, keys: readonly string[], requiresCertification = false) {
  const shaped = (merchantId: string) =>
    create(MerchantSchema, { merchantId, name: merchants[merchantId] ?? '' });
  const made = { merchants: 0, keys: 0 };
  const transport = createRouterTransport(({ rpc }) => {
    rpc(MerchantService.method.getMerchant, ({ merchantId }) => {
      if (!(merchantId in merchants)) throw new ConnectError('no such merchant', Code.NotFound);
      return { merchant: shaped(merchantId) };
    });
    rpc(MerchantService.method.listMerchants, () => ({ merchants: Object.keys(merchants).map(shaped) }));
    rpc(MerchantService.method.createMerchant, ({ name, productionActivated }) => {
      if (productionActivated && requiresCertification)
        throw new ConnectError('not certified', Code.FailedPrecondition);
      const merchantId = `mer_new_${++made.merchants}`;
      merchants[merchantId] = name;
      return { merchant: { ...shaped(merchantId), productionActivated } };
    });
    rpc(ApiKeyService.method.authenticateApiKey, ({ apiKey }) => {
      if (!keys.includes(apiKey)) throw new ConnectError('not a key', Code.Unauthenticated);
      return {};
    });
    rpc(ApiKeyService.method.issueApiKey, ({ environment }) => ({
      secret: `svc_${environment === Environment.SANDBOX ? 'test' : 'live'}_new_${++made.keys}`,
    }));
  });
  return { transport, made };
}

async function ensure(core: ReturnType<typeof coreWith>, known: DemoMerchant | undefined) {
  const reports: string[] = [];
  const report = (line: string) => reports.push(line);
  const merchant = await ensureDemoMerchant({
    operator: core.transport,
    facade: core.transport,
    kept: known,
    report,
  });
  return { merchant, reports };
}

describe('the demo merchant', () => {
  test('is created with both keys on the first start', async () => {
    const { merchant, reports } = await ensure(coreWith({}, []), undefined);
    expect(merchant).toEqual({ id: 'mer_new_1', test_key: 'svc_test_new_1', live_key: 'svc_live_new_2' });
    expect(reports).toEqual(['Demo merchant mer_new_1 created']);
  });

  test('is not created while a restore may have lost merchants, and the start says so', async () => {
    const refusing = createRouterTransport(({ rpc }) => {
      rpc(MerchantService.method.listMerchants, () => ({ merchants: [] }));
      rpc(MerchantService.method.createMerchant, () => {
        throw rpcError('MERCHANTS_LOST', 'a restore may have lost this merchant');
      });
    });
    const merchant = await ensureDemoMerchant({
      operator: refusing,
      facade: refusing,
      kept: undefined,
      report: () => undefined,
    });
    const demo = { rest: {}, webhooks: {} } as DemoFile;
    const options = {
      demo,
      dataFolder: '/',
      commandFolder: '/bin',
      seconds: 1,
      now: new Date(),
      currency: 'ETB',
    };

    expect(merchant).toBeUndefined();
    expect(describeRunning({ ...options, isRecovering: false })).toMatch(
      /may lack merchants[^]*start Gatehouse again\.[^]* gatehouse restore status$/m,
    );
  });

  test('is created in the sandbox where production requires a certification', async () => {
    const { merchant, reports } = await ensure(coreWith({}, [], true), undefined);
    expect(merchant?.id).toBe('mer_new_1');
    expect(reports).toEqual([
      expect.stringContaining('GATEHOUSE_REQUIRED_CERTIFICATION keeps it in the sandbox'),
    ]);
  });

  test('keeps its keys on later starts', async () => {
    const core = coreWith({ mer_1: 'Renamed since' }, [kept.test_key, kept.live_key]);
    expect(await ensure(core, kept)).toEqual({ merchant: kept, reports: [] });
    expect(core.made).toEqual({ merchants: 0, keys: 0 });
  });

  test('gets new keys with a message when demo.json was lost', async () => {
    const { merchant, reports } = await ensure(coreWith({ mer_1: 'Demo merchant' }, []), undefined);
    expect(merchant).toEqual({ id: 'mer_1', test_key: 'svc_test_new_1', live_key: 'svc_live_new_2' });
    expect(reports).toEqual([expect.stringContaining('Demo merchant mer_1 has new keys')]);
  });

  test('gets a new key only for one that is no longer valid', async () => {
    const { merchant, reports } = await ensure(coreWith({ mer_1: 'Demo merchant' }, [kept.test_key]), kept);
    expect(merchant).toEqual({ ...kept, live_key: 'svc_live_new_1' });
    expect(reports).toHaveLength(1);
  });

  test('is created again in an empty database', async () => {
    const { merchant } = await ensure(coreWith({ mer_7: 'A real shop' }, []), kept);
    expect(merchant?.id).toBe('mer_new_1');
  });

  test.each([
    ['a missing file', undefined],
    ['text that is not JSON', '{"merchant":'],
    ['JSON without the merchant', '{"rest":{}}'],
  ])('is not read from %s', (_name, text) => {
    expect(readDemoMerchant(text)).toBeUndefined();
  });

  test('is read from demo.json', () => {
    const merchant = { ...kept, test_webhook_secret: 'whsec_1', live_webhook_secret: 'whsec_2' };
    expect(readDemoMerchant(JSON.stringify({ rest: {}, merchant }))).toEqual(merchant);
  });
});
