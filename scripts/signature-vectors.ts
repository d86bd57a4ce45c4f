import { signedHeaders } from '../src/contract/webhook-signature.ts';
import type { LiveSecrets } from '../src/contract/webhook-signature.ts';

/** Why a webhook is refused. All clients use these words. */
type Refusal = 'missing_header' | 'malformed_header' | 'too_old' | 'too_new' | 'no_match';
type Verdict = 'genuine' | Refusal;

interface SignatureVector {
  readonly name: string;
  /** The receiver's clock, in seconds since 1970. */
  readonly now: number;
  /** The secrets that the receiver knows. */
  readonly secrets: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly body_base64: string;
  /** The verdict on `webhook-signature`. */
  readonly webhook_signature: Verdict;
  /** The verdict on `X-SVC-HMAC-Signature`. */
  readonly svc_signature: Verdict;
}

// Examples that no merchant uses. They are fixed, so that the file is the same each time.
const old = 'whsec_0sE89nwH9zEzWXYlRQCvpab6VpIkoqifrxLzD6dCIms=';
const next = 'whsec_bm90IGEgc2VjcmV0LCBhbiBleGFtcGxlIG9mIG9uZSE=';
const stranger = 'whsec_c29tZWJvZHkgZWxzZSdzIHNlY3JldCwgYW4gZXhhbXBsZQ==';

const sentAt = 1_763_631_072;
const id = 'evt_01jd4r7c2mf9vx3k8h5w0q6tzn';
const order = {
  order_id: 'ord_01jd4qzv3ke8rb2m7c0n5x9t6w',
  order_number: 'INV-2025-0042',
  status: 'COMPLETED',
  amount: '100.50',
  deducted: '100.50',
  currency: 'ETB',
  payment_option: 'walleta_ussd',
  payment_type: 'API',
  customer_phone: '0911223344',
  reason: 'Three books',
  created_timestamp: '2025-11-20T09:30:00.000Z',
  updated_timestamp: '2025-11-20T09:31:12.408Z',
};
const bodyOf = (data: object): Buffer =>
  Buffer.from(
    JSON.stringify({
      id,
      type: 'order.completed',
      created_at: '2025-11-20T09:31:12.408Z',
      environment: 'sandbox',
      sequence: 3,
      previous_status: 'PENDING',
      data,
    }),
  );
const body = bodyOf(order);

interface Arrival {
  readonly signedWith?: LiveSecrets;
  readonly knows?: readonly string[];
  /** How much later than the signature the receiver reads it, in seconds. */
  readonly later?: number;
  readonly signed?: Buffer;
  readonly arrived?: Buffer;
  /** Headers that arrive otherwise; undefined: not at all. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

function vector(
  name: string,
  verdicts: readonly [standard: Verdict, svc: Verdict],
  { signedWith = { current: old }, knows = [old], later = 0, ...arrival }: Arrival = {},
): SignatureVector {
  const signed = arrival.signed ?? body;
  const sent = signedHeaders({
    eventId: id,
    body: signed,
    at: new Date(sentAt * 1000),
    secrets: signedWith,
  });
  const headers = Object.entries({ ...sent, ...arrival.headers }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return {
    name,
    now: sentAt + later,
    secrets: knows,
    headers: Object.fromEntries(headers),
    body_base64: (arrival.arrived ?? signed).toString('base64'),
    webhook_signature: verdicts[0],
    svc_signature: verdicts[1],
  };
}

const genuine = ['genuine', 'genuine'] as const;
const unmatched = ['no_match', 'no_match'] as const;
const during: LiveSecrets = { current: old, next };
const signatureOf = (secrets: LiveSecrets): string =>
  signedHeaders({ eventId: id, body, at: new Date(sentAt * 1000), secrets })['webhook-signature'] ?? '';
const ethiopic = bodyOf({ ...order, reason: 'ሦስት መጻሕፍት 📚' });

const vectors: readonly SignatureVector[] = [
  vector('one secret', genuine),
  vector('before a rotation, the receiver knows the next secret too', genuine, { knows: [next, old] }),
  vector('before a rotation, the receiver knows only the next secret', unmatched, { knows: [next] }),
  vector('during a rotation, the receiver knows both secrets', genuine, {
    signedWith: during,
    knows: [old, next],
  }),
  vector('during a rotation, the receiver knows only the old secret', genuine, { signedWith: during }),
  vector('during a rotation, the receiver knows only the next secret', ['genuine', 'no_match'], {
    signedWith: during,
    knows: [next],
  }),
  vector('after a rotation, the receiver knows both secrets', genuine, {
    signedWith: { current: next },
    knows: [old, next],
  }),
  vector('after a rotation, the receiver knows only the old secret', unmatched, {
    signedWith: { current: next },
  }),
  vector("another merchant's secret", unmatched, { signedWith: { current: stranger }, knows: [old, next] }),
  vector('299 seconds old', genuine, { later: 299 }),
  vector('300 seconds old', genuine, { later: 300 }),
  vector('301 seconds old', ['too_old', 'genuine'], { later: 301 }),
  vector('300 seconds in the future', genuine, { later: -300 }),
  vector('301 seconds in the future', ['too_new', 'genuine'], { later: -301 }),
  vector('the timestamp is changed', ['no_match', 'genuine'], {
    headers: { 'webhook-timestamp': String(sentAt + 1) },
  }),
  vector('the id is changed', ['no_match', 'genuine'], {
    headers: { 'webhook-id': 'evt_01jd4r7c2mf9vx3k8h5w0q6tzm' },
  }),
  vector('an amount in the body is changed', unmatched, { arrived: bodyOf({ ...order, amount: '900.50' }) }),
  vector('the body has one more byte', unmatched, { arrived: Buffer.concat([body, Buffer.from('\n')]) }),
  vector('the body is empty', unmatched, { arrived: Buffer.alloc(0) }),
  vector('a body in Ethiopic script with an emoji', genuine, { signed: ethiopic }),
  vector('the same text in another Unicode form', unmatched, {
    signed: bodyOf({ ...order, reason: 'café' }),
    arrived: bodyOf({ ...order, reason: 'cafe\u0301' }),
  }),
  vector('other spellings of the names of headers', genuine, {
    headers: {
      'webhook-id': undefined,
      'Webhook-Id': id,
      'webhook-timestamp': undefined,
      'WEBHOOK-TIMESTAMP': String(sentAt),
      'X-SVC-HMAC-Signature': undefined,
      'x-svc-hmac-signature':
        signedHeaders({ eventId: id, body, at: new Date(0), secrets: during })['X-SVC-HMAC-Signature'] ?? '',
    },
  }),
  vector('signatures of other versions beside it', genuine, {
    headers: { 'webhook-signature': `v1a,AAAA ${signatureOf(during)} v2,AAAA` },
  }),
  ...['webhook-id', 'webhook-timestamp', 'webhook-signature'].flatMap((name) => [
    vector(`no ${name}`, ['missing_header', 'genuine'], { headers: { [name]: undefined } }),
    vector(`an empty ${name}`, ['missing_header', 'genuine'], { headers: { [name]: '' } }),
  ]),
  vector('no X-SVC-HMAC-Signature', ['genuine', 'missing_header'], {
    headers: { 'X-SVC-HMAC-Signature': undefined },
  }),
  ...['abc', '-1', '1e9', `${sentAt}.5`, `0x${sentAt.toString(16)}`, '9'.repeat(20), '١٧٦٣٦٣١٠٧٢'].map(
    (text) =>
      vector(`the webhook-timestamp ${text}`, ['malformed_header', 'genuine'], {
        headers: { 'webhook-timestamp': text },
      }),
  ),
  ...['v1', 'v1a,AAAA', 'null', 'é', signatureOf(during).replaceAll('v1,', '')].map((text) =>
    vector(`the webhook-signature ${text}`, ['malformed_header', 'genuine'], {
      headers: { 'webhook-signature': text },
    }),
  ),
  ...['v1,', 'v1,AAAA', 'v1,ሦስት', `${signatureOf({ current: old })}=`].map((text) =>
    vector(`the webhook-signature ${text}`, ['no_match', 'genuine'], {
      headers: { 'webhook-signature': text },
    }),
  ),
  ...['abcd', 'é', 'F'.repeat(64), '0'.repeat(63), '0'.repeat(65)].map((text) =>
    vector(`the X-SVC-HMAC-Signature ${text}`, ['genuine', 'malformed_header'], {
      headers: { 'X-SVC-HMAC-Signature': text },
    }),
  ),
  vector('an X-SVC-HMAC-Signature of zeros', ['genuine', 'no_match'], {
    headers: { 'X-SVC-HMAC-Signature': '0'.repeat(64) },
  }),
];

/** The file that all clients read: signatures of webhooks, and the verdict on each. */
export const signatureVectors = {
  comment:
    'Webhooks as they arrive, signed by Gatehouse, with the verdict on both signatures. Written by `npm run clients`.',
  tolerance_seconds: 300,
  vectors,
};
