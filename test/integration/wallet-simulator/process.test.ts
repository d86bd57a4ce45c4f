import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { afterEach, expect, test } from '@jest/globals';
import { startProcess } from '../../support/gatehouse-process.ts';
import type { GatehouseProcess } from '../../support/gatehouse-process.ts';
import { startInline } from '../../support/inline-process.ts';
import { postJson } from '../../support/post-json.ts';

const settings = {
  GATEHOUSE_SIMULATOR_PORT: '0',
  GATEHOUSE_SIMULATOR_CREDENTIALS: JSON.stringify({
    walleta: { client_id: 'a', client_secret: 'secret-of-a', api_key: 'key-of-a' },
    walletb: { client_id: 'b', client_secret: 'secret-of-b', api_key: 'key-of-b' },
  }),
};

let simulator: GatehouseProcess | undefined;
afterEach(async () => {
  await simulator?.stop('SIGKILL');
  simulator = undefined;
});

/** Requests 1 ETB of walleta's payer. */
async function pay(origin: string, payer: string): Promise<Response> {
  const answer = await fetch(`${origin}/walleta/v1/oauth/accesstoken`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: 'a',
      client_secret: 'secret-of-a',
    }),
  });
  const { access_token: token } = (await answer.json()) as { access_token: string };
  return postJson(
    `${origin}/walleta/transactions/type/merchantpay`,
    { amount: '1', currency: 'ETB', debitParty: [{ key: 'msisdn', value: payer }] },
    {
      ...{ 'x-client-id': 'a', 'x-api-key': 'key-of-a', authorization: `Bearer ${token}` },
      'x-correlationid': randomUUID(),
    },
  );
}

const run = (args: readonly string[], env: Readonly<Record<string, string>>) =>
  new Promise<{ readonly code: unknown; readonly stderr: string }>((done) =>
    execFile(process.execPath, ['src/main/wallet-simulator.ts', ...args], { env }, (error, _stdout, stderr) =>
      done({ code: error?.code ?? 0, stderr }),
    ),
  );

test('the process prints its address, serves both wallets and the page, and exits with code 0 after SIGTERM', async () => {
  simulator = await startProcess('wallet-simulator', settings);
  const origin = String(simulator.ready['origin']);

  const statuses = await Promise.all(
    ['a', 'b'].map(async (name) => {
      const headers = { 'x-client-id': name, 'x-api-key': `key-of-${name}` };
      return (await fetch(`${origin}/wallet${name}/heartbeat`, { headers })).status;
    }),
  );
  const page = await fetch(origin);
  const pageText = await page.text();
  const code = await simulator.stop('SIGTERM');

  expect(simulator.ready).toMatchObject({ process: 'wallet-simulator', interactive: false });
  expect(statuses).toEqual([200, 200]);
  expect(pageText).toContain('Wallet simulator');
  expect(code).toBe(0);
  expect(JSON.stringify(simulator.log)).not.toMatch(/secret-of|key-of/);
});

test('the time scale in the settings scales all delays', async () => {
  const scaled = await startInline('wallet-simulator', {
    ...settings,
    GATEHOUSE_SIMULATOR_TIME_SCALE: '0.001',
  });

  const answer = await pay(String(scaled.ready['origin']), '251900000004');
  await scaled.stop();

  const { expiryTime } = (await answer.json()) as { expiryTime: string };
  const sentAt = Date.parse(String(answer.headers.get('x-date')));
  expect(Date.parse(expiryTime) - sentAt).toBeLessThan(60_000);
});

test('without credentials the process names the missing setting and does not start', async () => {
  await expect(startInline('wallet-simulator', {})).rejects.toThrow(
    'GATEHOUSE_SIMULATOR_CREDENTIALS is not set',
  );
});

test('for an unknown option the process names the existing one', async () => {
  const { code, stderr } = await run(['--approve'], settings);

  expect(code).toBe(2);
  expect(stderr).toContain('--interactive');
});
