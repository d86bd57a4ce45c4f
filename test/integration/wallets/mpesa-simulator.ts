import { randomBytes, randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import Fastify from 'fastify';
import { scaleDelays, standardDelaysMs } from '../../../src/wallet-simulator/delays.ts';
import { createMemoryJournal } from '../../../src/wallet-simulator/journal.ts';
import type { JournalFile } from '../../../src/wallet-simulator/journal.ts';
import { createLedger } from '../../../src/wallet-simulator/ledger.ts';
import { createReceivedRequests } from '../../../src/wallet-simulator/received-requests.ts';
import type { SimulatedProtocol, SimulatedWallet } from '../../../src/wallet-simulator/simulated-wallet.ts';
import { credentials, securityKey } from './mpesa-subject.ts';

/** A simulator of its own, in which payers answer in a moment instead of minutes. */
export async function startMpesaSimulator(
  protocol: SimulatedProtocol,
  over: {
    readonly interactive?: boolean;
    readonly timeScale?: number;
    readonly now?: () => Date;
    readonly journal?: JournalFile;
  } = {},
) {
  const app = Fastify({ forceCloseConnections: true });
  const closing = new AbortController();
  let wallet: SimulatedWallet | undefined;
  await app.register(
    async (scope) => {
      wallet = await protocol.mount(scope, {
        id: 'mpesa',
        basePath: '/wallet',
        credentials: { ...credentials, security_key: securityKey },
        ledger: createLedger(),
        journal: over.journal ?? createMemoryJournal(),
        interactive: over.interactive ?? false,
        delaysMs: scaleDelays(standardDelaysMs, over.timeScale ?? 0.005),
        tokenLifetimeSeconds: 3_599,
        callbackTimeoutMs: 5_000,
        closing: closing.signal,
        received: createReceivedRequests(),
        after: (delayMs, task) => {
          const timer = setTimeout(task, delayMs);
          return () => clearTimeout(timer);
        },
        now: over.now ?? (() => new Date()),
        newUuid: randomUUID,
        randomBytes,
      });
    },
    { prefix: '/wallet' },
  );
  await app.listen({ host: '127.0.0.1', port: 0 });
  if (wallet === undefined) throw new Error('the simulator did not mount its wallet');
  const mounted = wallet;
  const { port } = app.server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/wallet`,
    wallet: mounted,
    close: async (): Promise<void> => {
      closing.abort();
      mounted.close();
      await app.close();
    },
  };
}

/** A payer pays in the menu of the phone. The account is the reference. */
export async function payInMenu(
  baseUrl: string,
  country: keyof typeof menus,
  payment: { readonly reference: string; readonly amount: string },
): Promise<Response> {
  const { token, simulate, code } = menus[country];
  const basic = Buffer.from(`${credentials.consumer_key}:${credentials.consumer_secret}`).toString('base64');
  const answer = await fetch(`${baseUrl}${token}?grant_type=client_credentials`, {
    headers: { authorization: `Basic ${basic}` },
  });
  const { access_token: bearer } = (await answer.json()) as { access_token: string };
  return fetch(`${baseUrl}${simulate}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${bearer}` },
    body: JSON.stringify({
      ...{ ShortCode: credentials.short_code, CommandID: 'CustomerPayBillOnline', Amount: payment.amount },
      ...{ Msisdn: `${code}700000012`, BillRefNumber: payment.reference },
    }),
  });
}

const menus = {
  Kenya: { code: '254', token: '/oauth/v1/generate', simulate: '/mpesa/c2b/v2/simulate' },
  Ethiopia: {
    code: '251',
    token: '/v1/token/generate',
    simulate: '/mpesa/b2c/simulatetransaction/v1/request',
  },
} as const;

export type StartedSimulator = Awaited<ReturnType<typeof startMpesaSimulator>>;
