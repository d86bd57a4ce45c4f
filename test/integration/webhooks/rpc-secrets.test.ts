import { timestampDate } from '@bufbuild/protobuf/wkt';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { SigningSecretState } from '../../../src/gen/gatehouse/v1/webhook_service_pb.js';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { failureOf } from '../../support/rpc-failure.ts';
import { openWebhookDesk, sharedWebhookDesk } from './webhook-desk.ts';
import { sharedStack } from '../../support/shared-stack.ts';

const stack = sharedStack({ facades: 0 });
const desk = sharedWebhookDesk(stack);
let merchantId: string;
beforeEach(async () => {
  ({ id: merchantId } = await stack.createMerchant());
});

const operator = () => desk.client('operator');
const sandbox = () => ({ merchantId, environment: Environment.SANDBOX });
const listed = async () => (await desk.client('reader').listSigningSecrets({ merchantId })).signingSecrets;

describe('rotating', () => {
  test('shows the secret once, and lists it without its value', async () => {
    const { signingSecret, secret } = await operator().rotateSigningSecret(sandbox());

    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(signingSecret).toMatchObject({
      merchantId,
      environment: Environment.SANDBOX,
      state: SigningSecretState.CURRENT,
      ending: secret.slice(-4),
      shown: true,
    });
    expect(signingSecret?.promoteTime).toBeUndefined();
    expect(await listed()).toEqual([signingSecret]);
    expect(JSON.stringify(await listed(), (_key, value: unknown) => String(value))).not.toContain(secret);
  });

  test.each([
    ['24 hours by default', undefined, 24 * 3600],
    ['the requested time', { seconds: 90n, nanos: 0 }, 90],
    ['30 days at most', { seconds: 2_592_000n }, 2_592_000],
  ])('makes the next secret current after %s', async (_name, promoteAfter, seconds) => {
    await operator().rotateSigningSecret(sandbox());
    const request = promoteAfter === undefined ? sandbox() : { ...sandbox(), promoteAfter };
    const { signingSecret } = await operator().rotateSigningSecret(request);
    const { createTime, promoteTime } = signingSecret!;
    expect(timestampDate(promoteTime!).getTime() - timestampDate(createTime!).getTime()).toBe(seconds * 1000);
  });

  test('makes the next secret current at once when the delay is zero', async () => {
    await operator().rotateSigningSecret(sandbox());
    const { signingSecret } = await operator().rotateSigningSecret({ ...sandbox(), promoteAfter: {} });
    expect(await listed()).toEqual([signingSecret]);
    expect(signingSecret?.state).toBe(SigningSecretState.CURRENT);
  });

  test('lists the sandbox before production, and on request one environment', async () => {
    await operator().rotateSigningSecret({ merchantId, environment: Environment.PRODUCTION });
    await operator().rotateSigningSecret(sandbox());
    expect((await listed()).map(({ environment }) => environment)).toEqual([
      Environment.SANDBOX,
      Environment.PRODUCTION,
    ]);
    const { signingSecrets } = await operator().listSigningSecrets({
      merchantId,
      environment: Environment.PRODUCTION,
    });
    expect(signingSecrets).toHaveLength(1);
  });
});

describe('errors', () => {
  test('an unknown merchant gets no secret', async () => {
    const nobody = newRandomId('mer', new Date());
    expect(
      await failureOf(
        operator().rotateSigningSecret({ merchantId: nobody, environment: Environment.SANDBOX }),
      ),
    ).toMatchObject({ code: 'NotFound', reason: 'MERCHANT_NOT_FOUND' });
    expect((await operator().listSigningSecrets({ merchantId: nobody })).signingSecrets).toEqual([]);
  });

  test('a missing next secret cannot be promoted', async () => {
    await operator().rotateSigningSecret(sandbox());
    expect(await failureOf(operator().promoteSigningSecret(sandbox()))).toMatchObject({
      code: 'FailedPrecondition',
      reason: 'NO_NEXT_SECRET',
    });
  });

  test.each([
    [{ seconds: -1n }, 'must be 0s to 2592000s'],
    [{ seconds: 2_592_001n }, 'must be 0s to 2592000s'],
  ])('all invalid fields are named together, with %o', async (promoteAfter, issue) => {
    const failure = await failureOf(operator().rotateSigningSecret({ merchantId: 'x', promoteAfter }));
    expect(failure).toEqual({
      code: 'InvalidArgument',
      reason: 'INVALID_FIELDS',
      issues: {
        merchant_id: 'must be an id of the form mer_…',
        environment: 'must be SANDBOX or PRODUCTION',
        promote_after: issue,
      },
    });
  });

  test('a core that does not answer is named, and no secret is created', async () => {
    const lonely = await openWebhookDesk(stack, { coreAddresses: ['127.0.0.1:1'] });
    try {
      expect(await failureOf(lonely.client('operator').rotateSigningSecret(sandbox()))).toMatchObject({
        code: 'Unavailable',
        reason: 'CORE_UNAVAILABLE',
      });
    } finally {
      await lonely.close();
    }
    expect(await listed()).toEqual([]);
  });
});
