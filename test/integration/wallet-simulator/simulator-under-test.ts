import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { buildWalletSimulator } from '../../../src/wallet-simulator/app.ts';
import type { MountedWallet } from '../../../src/wallet-simulator/app.ts';
import { standardDelaysMs } from '../../../src/wallet-simulator/delays.ts';
import { createMemoryJournal } from '../../../src/wallet-simulator/journal.ts';
import type { JournalFile } from '../../../src/wallet-simulator/journal.ts';
import { createLedger } from '../../../src/wallet-simulator/ledger.ts';
import type { Ledger } from '../../../src/wallet-simulator/ledger.ts';
import { createLogger } from '../../../src/platform/logger.ts';
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

export interface SimulatorUnderTest {
  readonly origin: string;
  readonly time: ManualTime;
  readonly ledgers: Readonly<Record<'walleta' | 'walletb', Ledger>>;
  /** Any request, with nothing added. */
  readonly send: (path: string, options?: RequestOptions) => Promise<Answer>;
  /** A request to a wallet, by a client with valid credentials. Objects are sent as JSON. */
  readonly call: (path: string, options?: RequestOptions, wallet?: 'walleta' | 'walletb') => Promise<Answer>;
  /** Requests 100.5 ETB of the payer, or what `body` contains. */
  readonly pay: (payer: string, options?: PayOptions) => Promise<Answer>;
  readonly charges: (payer?: string) => Promise<readonly Json[]>;
  readonly prompts: (payer?: string) => Promise<readonly Json[]>;
  readonly close: () => Promise<void>;
}

export interface PayOptions extends RequestOptions {
  readonly correlationId?: string;
  readonly callbackUrl?: string;
  readonly wallet?: 'walleta' | 'walletb';
  readonly body?: Json;
}

export const credentials = {
  walleta: { clientId: 'client-a', clientSecret: 'secret-a', apiKey: 'key-a' },
  walletb: { clientId: 'client-b', clientSecret: 'secret-b', apiKey: 'key-b' },
} as const;

export const tokenLifetimeSeconds = 300;

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

export interface StartOptions {
  readonly interactive?: boolean;
  readonly callbackTimeoutMs?: number;
  /** The journal of walleta that an earlier simulator has written. */
  readonly journal?: JournalFile;
  readonly time?: ManualTime;
  /** The wallets with the GSMA's protocol. Each takes a while to start. The default is walleta alone. */
  readonly gsma?: readonly ('walleta' | 'walletb')[];
  /** Wallets of other protocols. */
  readonly others?: readonly MountedWallet[];
}

/** Wallets on a free port, with a clock of their own. */
export async function startSimulator(options: StartOptions = {}): Promise<SimulatorUnderTest> {
  const { time = createManualTime('2026-05-04T08:00:00.000Z') } = options;
  const journals = { walleta: options.journal ?? createMemoryJournal(), walletb: createMemoryJournal() };
  const ledgers = { walleta: createLedger(), walletb: createLedger() };
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

  const send: SimulatorUnderTest['send'] = async (path, { method, body, headers = {}, signal } = {}) => {
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
  const tokenOf = async (wallet: 'walleta' | 'walletb'): Promise<string> => {
    const known = tokens.get(wallet);
    if (known !== undefined && known.expiresMs > time.now().getTime()) return known.token;
    const { json } = await requestToken(send, wallet);
    const token = String(json['access_token']);
    tokens.set(wallet, { token, expiresMs: time.now().getTime() + tokenLifetimeSeconds * 1_000 });
    return token;
  };
  const call: SimulatorUnderTest['call'] = async (path, { headers = {}, ...rest } = {}, wallet = 'walleta') =>
    send(`/some/where/${wallet}${path}`, {
      ...rest,
      headers: { ...clientHeaders(wallet, await tokenOf(wallet)), ...headers },
    });
  const list = async (path: string, field: string, payer?: string): Promise<readonly Json[]> => {
    const query = payer === undefined ? '' : `?payer=${encodeURIComponent(payer)}`;
    return (await send(`${path}${query}`)).json[field] as readonly Json[];
  };
  return {
    origin,
    time,
    ledgers,
    send,
    call,
    pay: (payer, { correlationId = randomUUID(), callbackUrl, wallet, body, headers, signal } = {}) =>
      call(
        '/transactions/type/merchantpay',
        {
          body: { amount: '100.5', currency: 'ETB', debitParty: [{ key: 'msisdn', value: payer }], ...body },
          headers: {
            'x-correlationid': correlationId,
            ...(callbackUrl === undefined ? {} : { 'x-callback-url': callbackUrl }),
            ...headers,
          },
          ...(signal === undefined ? {} : { signal }),
        },
        wallet,
      ),
    charges: (payer) => list('/simulator/charges', 'charges', payer),
    prompts: (payer) => list('/simulator/prompts', 'prompts', payer),
    close: () => app.close(),
  };
}

export const clientHeaders = (
  wallet: 'walleta' | 'walletb',
  token: string,
): Readonly<Record<string, string>> => ({
  'x-client-id': credentials[wallet].clientId,
  'x-api-key': credentials[wallet].apiKey,
  authorization: `Bearer ${token}`,
});

export const basic = (id: string, secret: string): string =>
  `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;

/** Requests a token as RFC 6749 describes. */
export function requestToken(
  send: SimulatorUnderTest['send'],
  wallet: 'walleta' | 'walletb',
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
