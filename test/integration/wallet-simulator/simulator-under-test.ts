import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { buildWalletSimulator } from '../../../src/wallet-simulator/app.ts';
import type { MountedWallet } from '../../../src/wallet-simulator/app.ts';
import { standardDelaysMs } from '../../../src/wallet-simulator/delays.ts';
import { createMemoryJournal } from '../../../src/wallet-simulator/journal.ts';
import type { JournalFile } from '../../../src/wallet-simulator/journal.ts';
import { createLedger } from '../../../src/wallet-simulator/ledger.ts';
import type { Ledger } from '../../../src/wallet-simulator/ledger.ts';
import { createLogger } from '../../../src/platform/logger.ts';
import { shared } from '../../support/shared-stack.ts';
import { createManualTime } from './manual-time.ts';
import type { ManualTime } from './manual-time.ts';

export type Json = Readonly<Record<string, unknown>>;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body, an empty object when there is none. */
  readonly json: Json;
}

export interface RequestOptions {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

type WalletName = 'walleta' | 'walletb';

interface PayOptions extends RequestOptions {
  readonly correlationId?: string;
  readonly callbackUrl?: string;
  readonly wallet?: WalletName;
  readonly body?: Json;
}

export const credentials = {
  walleta: { clientId: 'client-a', clientSecret: 'secret-a', apiKey: 'key-a' },
  walletb: { clientId: 'client-b', clientSecret: 'secret-b', apiKey: 'key-b' },
} as const;

export const tokenLifetimeSeconds = 300;

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

interface StartOptions {
  readonly interactive?: boolean;
  readonly callbackTimeoutMs?: number;
  /** The journal of walleta that an earlier simulator has written. */
  readonly journal?: JournalFile;
  readonly time?: ManualTime;
  /** The wallets with the GSMA's protocol. Each takes a while to start. The default is walleta alone. */
  readonly gsma?: readonly WalletName[];
  /** Wallets of other protocols. */
  readonly others?: readonly MountedWallet[];
}

/** Wallets on a free port, with a clock of their own. */
export async function startSimulator(options: StartOptions = {}) {
  const { time = createManualTime('2026-05-04T08:00:00.000Z') } = options;
  const journals = { walleta: options.journal ?? createMemoryJournal(), walletb: createMemoryJournal() };
  const ledgers: Record<WalletName, Ledger> = { walleta: createLedger(), walletb: createLedger() };
  const app = await buildWalletSimulator({
    wallets: [
      ...(options.others ?? []),
      ...(options.gsma ?? ['walleta' as const]).map((wallet) => ({
        id: wallet,
        protocol: 'gsma' as const,
        basePath: `/some/where/${wallet}`,
        credentials: {
          client_id: credentials[wallet].clientId,
          client_secret: credentials[wallet].clientSecret,
          api_key: credentials[wallet].apiKey,
        },
        ledger: ledgers[wallet],
        journal: journals[wallet],
      })),
    ],
    interactive: options.interactive ?? false,
    delaysMs: standardDelaysMs,
    tokenLifetimeSeconds,
    callbackTimeoutMs: options.callbackTimeoutMs ?? 5_000,
    after: time.after,
    now: time.now,
    newUuid: randomUUID,
    randomBytes,
    logger: createLogger({ process: 'test', instance: 'wallet-simulator', level: 'silent' }),
  });
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });

  /** Any request, with nothing added. */
  const send = async (path: string, options: RequestOptions = {}): Promise<Answer> => {
    const { method, body, headers = {}, signal } = options;
    const given = typeof body === 'string' ? body : body === undefined ? null : JSON.stringify(body);
    const response = await fetch(`${origin}${path}`, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      body: given,
      headers: { ...(given === null ? {} : { 'content-type': 'application/json' }), ...headers },
      redirect: 'manual',
      ...(signal === undefined ? {} : { signal }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: isJson ? (JSON.parse(text) as Json) : {},
    };
  };
  const tokens = new Map<string, { readonly token: string; readonly expiresMs: number }>();
  const tokenOf = async (wallet: WalletName): Promise<string> => {
    const known = tokens.get(wallet);
    if (known !== undefined && known.expiresMs > time.now().getTime()) return known.token;
    const { json } = await requestToken(send, wallet);
    const token = String(json['access_token']);
    tokens.set(wallet, { token, expiresMs: time.now().getTime() + tokenLifetimeSeconds * 1_000 });
    return token;
  };
  /** A request to a wallet, by a client with valid credentials. Objects are sent as JSON. */
  const call = async (path: string, options: RequestOptions = {}, wallet: WalletName = 'walleta') =>
    send(`/some/where/${wallet}${path}`, {
      ...options,
      headers: { ...clientHeaders(wallet, await tokenOf(wallet)), ...options.headers },
    });
  const list = async (path: string, field: string, payer?: string): Promise<readonly Json[]> => {
    const query = payer === undefined ? '' : `?payer=${encodeURIComponent(payer)}`;
    return (await send(`${path}${query}`)).json[field] as readonly Json[];
  };
  return {
    ...{ origin, time, ledgers, send, call },
    /** Requests 100.5 ETB of the payer, or what `body` contains. */
    pay: (payer: string, options: PayOptions = {}): Promise<Answer> => {
      const { correlationId = randomUUID(), callbackUrl, wallet, body, headers, ...rest } = options;
      return call(
        '/transactions/type/merchantpay',
        {
          ...rest,
          body: { amount: '100.5', currency: 'ETB', debitParty: [{ key: 'msisdn', value: payer }], ...body },
          headers: {
            'x-correlationid': correlationId,
            ...(callbackUrl === undefined ? {} : { 'x-callback-url': callbackUrl }),
            ...headers,
          },
        },
        wallet,
      );
    },
    charges: (payer?: string) => list('/simulator/charges', 'charges', payer),
    prompts: (payer?: string) => list('/simulator/prompts', 'prompts', payer),
    close: () => app.close(),
  };
}
export type SimulatorUnderTest = Awaited<ReturnType<typeof startSimulator>>;

/** One for all tests of a file. */
export const simulatorOfFile = (options?: StartOptions): SimulatorUnderTest =>
  shared(() => startSimulator(options));

/** Status, category and code of an error, such as "400 businessRule incorrectState". */
export const errorOf = ({ status, json }: Pick<Answer, 'status' | 'json'>): string =>
  [status, json['errorCategory'], json['errorCode']].join(' ');

export const clientHeaders = (wallet: WalletName, token: string): Readonly<Record<string, string>> => ({
  'x-client-id': credentials[wallet].clientId,
  'x-api-key': credentials[wallet].apiKey,
  authorization: `Bearer ${token}`,
});

export const basic = (id: string, secret: string): string =>
  `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;

/** Requests a token as RFC 6749 describes. */
export function requestToken(
  send: SimulatorUnderTest['send'],
  wallet: WalletName,
  options: RequestOptions = {},
): Promise<Answer> {
  const { clientId, clientSecret } = credentials[wallet];
  return send(`/some/where/${wallet}/v1/oauth/accesstoken`, {
    body: 'grant_type=client_credentials',
    ...options,
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      authorization: basic(clientId, clientSecret),
      ...options.headers,
    },
  });
}
