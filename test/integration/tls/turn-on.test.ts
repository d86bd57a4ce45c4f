import { rm } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { startInline } from '../../support/inline-process.ts';
import { createPrivateAuthority } from '../../support/private-authority.ts';
import { sharedClosers, sharedStack } from '../../support/shared-stack.ts';

/* The order of docs/operating/tls.md, in which no request fails while TLS is turned on. */

const stack = sharedStack({ settings: { GATEHOUSE_RATE_LIMIT_PER_KEY: '0' } });
const closers = sharedClosers();

test('TLS is turned on without a failed request, with processes beside those without TLS', async () => {
  const authority = await createPrivateAuthority();
  closers.push(() => rm(authority.folder, { recursive: true }));
  const { own } = await authority.issue('core', 'DNS:localhost,IP:127.0.0.1');
  const { testKey } = await stack.createMerchant();
  const [plainFacade] = stack.facades;
  let facade = plainFacade?.sandbox ?? '';
  const statuses: number[] = [];
  const register = async (): Promise<number> => {
    const response = await fetch(`${facade}/api/v1/register`, {
      method: 'POST',
      headers: { apiKey: testKey, 'content-type': 'application/json' },
      body: JSON.stringify({
        order_number: `T-${statuses.length}`,
        return_url: 'http://127.0.0.1/back',
        amount: '100.50',
        currency: 'ETB',
        reason: 'Shoes',
        customer_phone: '251901110001',
      }),
    });
    return response.status;
  };
  const ended = new AbortController();
  const shop = (async () => {
    while (!ended.signal.aborted) {
      // 0 means no answer.
      statuses.push(await register().catch(() => 0));
      await nextTurn();
    }
  })();
  const requestsMore = async (): Promise<void> => {
    const before = statuses.length;
    while (statuses.length < before + 5) await nextTurn();
  };
  await requestsMore();

  // Another core with TLS, then another facade that calls it. The balancer of the facades switches, and the others end.
  const core = await startInline('core', {
    ...stack.coreSettings,
    GATEHOUSE_TLS_CA_FILE: authority.ca,
    GATEHOUSE_TLS_CERTIFICATE_FILE: own.certificate,
    GATEHOUSE_TLS_KEY_FILE: own.key,
  });
  closers.push(() => core.stop());
  const secured = await startInline('rest-facade', {
    GATEHOUSE_CORE_ADDRESSES: String(core.ready['grpc']),
    GATEHOUSE_WEBHOOKS_ADDRESSES: '127.0.0.1:1',
    GATEHOUSE_SERVICE_TOKEN: stack.tokens.facade,
    GATEHOUSE_REST_PRODUCTION_PORT: '0',
    GATEHOUSE_REST_SANDBOX_PORT: '0',
    GATEHOUSE_RATE_LIMIT_PER_KEY: '0',
    GATEHOUSE_TLS_CA_FILE: authority.ca,
  });
  closers.push(() => secured.stop());
  facade = String(secured.ready['sandbox']);
  await requestsMore();
  await plainFacade?.process.stop();
  await stack.cores[0]?.stop();
  await requestsMore();
  ended.abort();
  await shop;

  expect(new Set(statuses)).toEqual(new Set([201]));
});
