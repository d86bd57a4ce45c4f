import { execFile } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { findClientLibraries } from '../../../scripts/client-libraries.mjs';
import type { Language } from '../../../scripts/client-libraries.mjs';
import { createLogger } from '../../../src/platform/logger.ts';
import { buildWalletSimulator } from '../../../src/wallet-simulator/app.ts';
import { scaleDelays, standardDelaysMs } from '../../../src/wallet-simulator/delays.ts';
import { createLedger } from '../../../src/wallet-simulator/ledger.ts';
import type { ProtocolName } from '../../../src/wallet-simulator/protocols.ts';
import { certificate, credentials, securityKey } from '../wallets/mpesa-subject.ts';
import { newRsaKeys } from '../../support/rsa-keys.ts';

/** A published client library, and the report of its program of flows about a wallet of its own. */
interface ClientLibrary {
  readonly name: string;
  readonly language: Language;
  /** In the folder client-libraries. */
  readonly program: string;
  readonly protocol: Exclude<ProtocolName, 'gsma'>;
  readonly flows: Readonly<Record<string, unknown>>;
  /** The amounts that payers were charged, in ascending order. */
  readonly charged: readonly string[];
}

const someId: unknown = expect.stringMatching(/^[0-9]{10}$/);

const libraries: readonly ClientLibrary[] = [
  {
    name: 'mtn-momo (npm)',
    language: 'Node',
    program: 'flows-mtn-momo.cjs',
    protocol: 'mtn-momo',
    flows: {
      paid: { status: 'SUCCESSFUL', amount: '9', id: someId },
      callback: 'SUCCESSFUL',
      declined: 'ApprovalRejectedError',
      transfer: 'SUCCESSFUL',
      balance: 'EUR',
      active: { result: true },
    },
    charged: ['9'],
  },
  {
    name: 'mtnmomo-py (PyPI)',
    language: 'Python',
    program: 'flows_mtnmomo_py.py',
    protocol: 'mtn-momo',
    flows: {
      user: { provider_callback_host: '127.0.0.1', payment_server_url: null, target_environment: 'sandbox' },
      token: expect.objectContaining({ token_type: 'access_token', expires_in: 3_600 }),
      paid: { status: 'SUCCESSFUL', amount: '10', id: someId },
      callback: expect.objectContaining({ status: 'SUCCESSFUL', amount: '10', externalId: 'order-1' }),
      repeated: 'RESOURCE_ALREADY_EXIST',
      refund: { status: 'SUCCESSFUL', amount: '4', id: someId },
      'refund callback': 'SUCCESSFUL',
      transfer: { status: 'SUCCESSFUL', amount: '3', id: someId },
      deposit: { status: 'SUCCESSFUL', amount: '3', id: someId },
      balance: { available_balance: expect.any(String), currency: 'EUR' },
      active: true,
      name: 'Sand',
    },
    charged: ['10'],
  },
  {
    name: 'momo-openapi (PyPI)',
    language: 'Python',
    program: 'flows_momo_openapi.py',
    protocol: 'mtn-momo',
    flows: {
      paid: { status: 'SUCCESSFUL', amount: '7', reason: null },
      declined: { status: 'FAILED', amount: '7', reason: 'APPROVAL_REJECTED' },
      transfer: { status: 'SUCCESSFUL', amount: '2', reason: null },
      balance: 'EUR',
    },
    charged: ['7'],
  },
  {
    name: 'mobilemoney.py (PyPI)',
    language: 'Python',
    program: 'flows_mobilemoney_py.py',
    protocol: 'mtn-momo',
    flows: {
      user: true,
      'user found': [true, { providerCallbackHost: '127.0.0.1', targetEnvironment: 'sandbox' }],
      asked: [true, ''],
      balance: [true, expect.objectContaining({ currency: 'EUR' })],
      name: [true, expect.objectContaining({ given_name: 'Sand' })],
    },
    charged: ['5'],
  },
  // It drops the path of its base URL, so it reaches the first wallet of this protocol.
  {
    name: 'mpesakit (PyPI)',
    language: 'Python',
    program: 'flows_mpesakit.py',
    protocol: 'mpesa-daraja',
    flows: {
      paid: { callback: 0, same: true },
      query: '0',
      declined: 1032,
      status: expect.objectContaining({ TransactionStatus: 'Completed', Amount: 10 }),
      reversal: { code: '0', result: 0 },
      payout: 0,
      balance: 0,
      registered: '0',
    },
    charged: ['10'],
  },
  {
    name: 'mpesa-node (npm)',
    language: 'Node',
    program: 'flows-mpesa-node.cjs',
    protocol: 'mpesa-daraja',
    flows: {
      paid: { code: 0, amount: 50, phone: 254_711_000_260 },
      query: '0',
      status: 0,
      reversal: 0,
      payout: 0,
      balance: 0,
      validation: 'ORDER9',
      confirmation: '60.00',
    },
    charged: ['50', '60'],
  },
  {
    name: 'django-daraja (PyPI)',
    language: 'Python',
    program: 'flows_django_daraja.py',
    protocol: 'mpesa-daraja',
    flows: {
      token: true,
      asked: [200, '0'],
      paid: { code: 0, amount: 15, phone: 254_711_000_210 },
      payout: ['0', 0],
    },
    charged: ['15'],
  },
  {
    name: 'mpesa-sdk (PyPI)',
    language: 'Python',
    program: 'flows_mpesa_sdk.py',
    protocol: 'mpesa-daraja',
    flows: {
      paid: 0,
      query: '0',
      status: 0,
      reversal: 0,
      balance: 0,
      payout: 0,
      validation: 'ORDER4',
      confirmation: '40.00',
    },
    charged: ['30', '40'],
  },
  {
    name: 'daraja-sdk-py (PyPI)',
    language: 'Python',
    program: 'flows_daraja_sdk_py.py',
    protocol: 'mpesa-daraja',
    flows: { paid: 0, query: '0', status: 0, reversal: 0, balance: 0, payout: 0, registered: '0' },
    charged: ['25'],
  },
  {
    name: 'mpesa-python-sdk (PyPI)',
    language: 'Python',
    program: 'flows_mpesa_python_sdk.py',
    protocol: 'mpesa-ethiopia',
    flows: { token: ['Bearer', 3_600], asked: '0', paid: 0, payout: 0 },
    charged: ['20'],
  },
  {
    name: 'telebirr (PyPI)',
    language: 'Python',
    program: 'flows_telebirr.py',
    protocol: 'telebirr',
    flows: {
      waiting: 'WAIT_PAY',
      page: [200, true],
      paid: 'PAY_SUCCESS',
      notification: ['Completed', true],
      'in app': ['SUCCESS', true],
    },
    charged: ['12'],
  },
];

const [merchantKeys, telebirrKeys] = [newRsaKeys(), newRsaKeys()];

const mtnKeys = {
  collection_subscription_key: 'the-collection-key',
  disbursement_subscription_key: 'the-disbursement-key',
};
const telebirrApp = {
  fabric_app_id: 'the-app',
  app_secret: 'the-secret',
  merchant_app_id: '1234',
  merchant_code: '000123',
};

const ofMpesa = {
  known: { ...credentials, security_key: securityKey },
  given: (certificatePath: string) => ({ ...credentials, certificate_path: certificatePath }),
};

/** The simulator's settings, and the client's settings besides the base URL. */
const credentialsOf = {
  'mtn-momo': {
    known: { ...mtnKeys, collection_api_user: randomUUID(), collection_api_key: 'unused' },
    given: () => mtnKeys,
  },
  'mpesa-daraja': ofMpesa,
  'mpesa-ethiopia': ofMpesa,
  telebirr: {
    known: {
      ...telebirrApp,
      merchant_public_key: merchantKeys.publicKey,
      telebirr_private_key: telebirrKeys.privateKey,
      require_pss: true,
    },
    given: () => ({ ...telebirrApp, private_key: withoutFrame(merchantKeys.privateKey) }),
  },
} as const;

/** The base 64 of a key without its PEM frame, as telebirr's portal hands keys out. */
const withoutFrame = (pem: string): string => pem.replaceAll(/-----[^-]+-----|\n/g, '');

/** The wallet of a library. M-Pesa ends a token when it issues the next, so no two libraries share a wallet. */
const walletOf = (library: ClientLibrary): string => `wallet${libraries.indexOf(library)}`;

let folder: string;
let origin: string;
let simulator: Awaited<ReturnType<typeof buildWalletSimulator>>;
const results = new Map<ClientLibrary, Promise<Readonly<Record<string, unknown>>>>();

/** Runs the program of a library. It prints a line for each flow. @throws Error with what it printed to stderr */
function runFlows(library: ClientLibrary, libraryFolder: string): Promise<Readonly<Record<string, unknown>>> {
  const baseUrl = `${origin}/${walletOf(library)}`;
  const access = {
    base_url: baseUrl,
    web_base_url: `${baseUrl}/payment/web/paygate?`,
    ...credentialsOf[library.protocol].given(join(folder, 'certificate.cer')),
  };
  const program = fileURLToPath(new URL(`client-libraries/${library.program}`, import.meta.url));
  const [command, paths] =
    library.language === 'Node'
      ? [process.execPath, { NODE_PATH: join(libraryFolder, 'node_modules') }]
      : [join(libraryFolder, 'bin/python'), { PYTHONDONTWRITEBYTECODE: '1' }];
  const env = { PATH: process.env['PATH'], SIMULATOR_ACCESS: JSON.stringify(access), ...paths };
  return new Promise((resolve, reject) => {
    execFile(command, [program], { env, cwd: folder, timeout: 5 * 60_000 }, (error, stdout, stderr) => {
      const lines = stdout.split('\n').filter((line) => line.startsWith('FLOW '));
      const flows = Object.fromEntries(
        lines.map((line) => JSON.parse(line.slice('FLOW '.length)) as [string, unknown]),
      );
      if (error === null) resolve(flows);
      else reject(new Error(`after ${Object.keys(flows).join(', ')}: ${error.message}\n${stderr}`));
    });
  });
}

const present = libraries.flatMap((library) => {
  const libraryFolder = findClientLibraries(library.language);
  return libraryFolder === undefined ? [] : [{ library, libraryFolder }];
});
const absent = libraries.filter(({ language }) => findClientLibraries(language) === undefined);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-client-libraries-'));
  await writeFile(join(folder, 'certificate.cer'), certificate);
  simulator = await buildWalletSimulator({
    wallets: libraries.map((library) => ({
      id: walletOf(library),
      protocol: library.protocol,
      basePath: `/${walletOf(library)}`,
      credentials: credentialsOf[library.protocol].known,
      ledger: createLedger(),
    })),
    interactive: false,
    delaysMs: scaleDelays(standardDelaysMs, 0.1),
    tokenLifetimeSeconds: 3_600,
    callbackTimeoutMs: 60_000,
    after: (delayMs, task) => {
      const timer = setTimeout(task, delayMs);
      return () => clearTimeout(timer);
    },
    now: () => new Date(),
    newUuid: randomUUID,
    randomBytes,
    logger: createLogger({ process: 'test', instance: 'wallet-simulator', level: 'silent' }),
  });
  origin = await simulator.listen({ host: '127.0.0.1', port: 0 });
  for (const { library, libraryFolder } of present) {
    const result = runFlows(library, libraryFolder);
    // The test of the library reports a failure.
    result.catch(() => undefined);
    results.set(library, result);
  }
});

afterAll(async () => {
  await Promise.allSettled(results.values());
  await simulator.close();
  await rm(folder, { recursive: true });
});

describe('a published client library completes its flows at the simulated wallet', () => {
  for (const { library } of present) {
    test(`${library.name} at ${library.protocol}`, async () => {
      expect(await results.get(library)).toEqual(library.flows);

      const response = await fetch(`${origin}/simulator/charges?wallet=${walletOf(library)}`);
      const { charges } = (await response.json()) as { charges: readonly { amount: string }[] };
      expect(charges.map(({ amount }) => amount).sort()).toEqual(library.charged);
    });
  }

  for (const { name, language, protocol } of absent) {
    test.skip(`not tested: ${name} at ${protocol}, because npm test could not install ${language} packages`, () =>
      undefined);
  }
});
