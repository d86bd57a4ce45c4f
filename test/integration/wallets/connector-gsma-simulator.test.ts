import { randomBytes, randomUUID } from 'node:crypto';
import { createLogger } from '../../../src/runtime/logger.ts';
import { buildWalletSimulator } from '../../../src/wallet-simulator/app.ts';
import { createLedger } from '../../../src/wallet-simulator/ledger.ts';
import { GsmaConnector } from '../../../src/wallets/gsma/gsma-connector.ts';
import type { Ending, RealSubject } from './connector-conformance.ts';
import { describeOutcomes, endings } from './connector-conformance.ts';
import { buildPayment, gsmaSettings } from './gsma-subject.ts';

/** The last two digits of the payer for whom it ends so. */
const payers: Readonly<Record<Ending, string>> = {
  completed: '00',
  insufficient_funds: '01',
  wrong_pin: '02',
  declined_by_payer: '03',
  expired: '04',
  payer_not_found: '05',
  limit_exceeded: '06',
  account_state: '07',
  unrecognised_status: '09',
  lost_acknowledgement: '14',
  nothing_created: '15',
  another_amount: '19',
  still_pending: '20',
};

const credentials = { clientId: 'the-client', clientSecret: 'the-client-secret', apiKey: 'the-api-key' };

/** A wallet that takes a moment where people take minutes. */
const delaysMs = { payerAnswer: 20, promptExpiry: 60, lateSuccess: 100, reversal: 20, hang: 100 };

async function startSimulator(): Promise<RealSubject> {
  const simulator = await buildWalletSimulator({
    wallets: [{ wallet: 'walleta', basePath: '/some/walleta', credentials, ledger: createLedger() }],
    interactive: false,
    delaysMs,
    tokenLifetimeSeconds: 3_600,
    callbackTimeoutMs: 1_000,
    after: (delayMs, task) => {
      const timer = setTimeout(task, delayMs);
      return () => clearTimeout(timer);
    },
    now: () => new Date(),
    newUuid: randomUUID,
    randomBytes,
    logger: createLogger({ process: 'test', instance: 'simulator', level: 'silent' }),
  });
  const origin = await simulator.listen({ host: '127.0.0.1', port: 0 });
  const connector = new GsmaConnector(
    gsmaSettings(origin, {
      baseUrl: `${origin}/some/walleta`,
      // Nobody listens there: what a callback would tell is asked for anyway.
      callbackBaseUrl: 'http://127.0.0.1:9/callbacks',
    }),
    () => new Date(),
  );
  return {
    connector,
    paymentThat: (ending) =>
      buildPayment({
        attemptId: randomUUID(),
        payerPhone: `+2519000000${payers[ending]}`,
        requestedAt: new Date(),
      }),
    chargesOf: async ({ attemptId }) => {
      const response = await fetch(`${origin}/simulator/charges?correlation_id=${attemptId}`);
      const { charges } = (await response.json()) as { charges: readonly { amount: string }[] };
      return charges.map(({ amount }) => amount);
    },
    newId: randomUUID,
    close: async () => {
      await connector.close();
      await simulator.close();
    },
  };
}

describeOutcomes('the GSMA connector', endings, startSimulator);
