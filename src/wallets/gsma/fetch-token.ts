import { Value } from '@sinclair/typebox/value';
import { adviceOnToken } from '../connector/access-tokens.ts';
import type { FetchedToken } from '../connector/access-tokens.ts';
import { readJson } from '../connector/read-json.ts';
import type { WalletHttp, WalletReply } from '../connector/wallet-http.ts';
import type { GsmaSettings } from './gsma-settings.ts';
import { tokenUrl } from './gsma-settings.ts';
import { tokenAnswerSchema } from './messages.ts';

const maxTokenAnswerBytes = 64 * 1024;

/** The lifetime of a token without `expires_in`, which RFC 6749, section 5.1 only recommends. */
const assumedLifetimeSeconds = 300;

/** Fetches an access token by the client credentials grant (RFC 6749, section 4.4). */
export async function fetchToken(
  settings: GsmaSettings,
  http: WalletHttp,
  now: () => Date,
): Promise<FetchedToken> {
  const { clientId, clientSecret, apiKey, timeouts } = settings;
  const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64');
  const { reply, exchange } = await http.exchange(
    {
      purpose: 'token',
      method: 'POST',
      url: tokenUrl(settings),
      headers: {
        accept: 'application/json',
        authorization: `Basic ${basic}`,
        'content-type': 'application/x-www-form-urlencoded',
        'x-api-key': apiKey,
        'x-date': now().toISOString(),
      },
      body: 'grant_type=client_credentials',
      maxAnswerBytes: maxTokenAnswerBytes,
      secrets: [clientSecret, apiKey, basic],
    },
    AbortSignal.timeout(timeouts.callMs),
  );
  const answer = readTokenAnswer(reply);
  if (typeof answer === 'string') return { kind: 'none', detail: answer, exchange };
  return { kind: 'token', token: answer.token, lifetimeMs: answer.seconds * 1_000, exchange };
}

/** The token and its lifetime, or why there is none. */
function readTokenAnswer(reply: WalletReply): { token: string; seconds: number } | string {
  if (reply.kind !== 'answered') return `no access token: ${reply.detail}`;
  if (reply.status !== 200 && reply.status !== 201) {
    const advice = adviceOnToken(reply.status, 'the client id, its secret and the API key');
    return `no access token: the wallet answered ${reply.status}${advice}`;
  }
  const read = readJson(reply);
  if (!read.ok) return `no access token: ${read.problem}`;
  if (!Value.Check(tokenAnswerSchema, read.json)) {
    return 'no access token: the answer is not that of a token endpoint (RFC 6749, section 5.1)';
  }
  const { access_token: token, expires_in: lifetime } = read.json;
  return { token, seconds: lifetime === undefined ? assumedLifetimeSeconds : Number(lifetime) };
}
