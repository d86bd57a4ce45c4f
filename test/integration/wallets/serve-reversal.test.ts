import { create } from '@bufbuild/protobuf';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { expect, test } from '@jest/globals';
import {
  LeasedReversalSchema,
  StrayPaymentSchema,
} from '../../../src/gen/gatehouse/v1/stray_payment_service_pb.js';
import { createCallbackTokens } from '../../../src/wallets/callback-token.ts';
import { correlationId } from '../../../src/wallets/gsma/correlation-id.ts';
import { taskOfStrayPayment } from '../../../src/wallets/reversal-task.ts';
import { serveReversal } from '../../../src/wallets/serve-reversal.ts';
import { gsmaOfEachTest, requestState, reversalStateId, routes, token, transaction } from './gsma-subject.ts';
import { json } from './scripted-wallet.ts';

const merchantId = 'mer_01k9z3t5y8e6wbv2n4m7q1h0cd';
const strayPaymentId = 'stp_01k9z3t5y8e6wbv2n4m7q1h0cd';
const reversalId = 'stp_01m7xnstxmevpaa4ekcx5f30ma';
const tokens = createCallbackTokens(Buffer.alloc(32, 7), 'walleta-sandbox');

const subject = gsmaOfEachTest();

const serve = (leased: MessageInitShape<typeof LeasedReversalSchema> = {}, tries = 1) => {
  const money = { providerTransactionId: 'REF-1', amount: '99.00', currency: 'ETB' };
  const strayPayment = create(StrayPaymentSchema, { merchantId, strayPaymentId, tries, ...money });
  const parts = { connector: subject.connector, tokens, now: () => new Date() };
  const task = taskOfStrayPayment(create(LeasedReversalSchema, { strayPayment, reversalId, ...leased }));
  return serveReversal(parts, task, { signal: new AbortController().signal });
};

const refusal = {
  errorCategory: 'businessRule',
  errorCode: 'incorrectState',
  errorDescription: 'cannot be reversed',
  errorDateTime: '2026-01-01T08:00:03.000Z',
};
const notFound = { ...refusal, errorCategory: 'identification', errorCode: 'identifierError' };
const failed = requestState({ serverCorrelationId: reversalStateId, status: 'failed', error: refusal });
const saysNo = json(400, refusal);

test('every request to the wallet carries the id of the reversal, not that of the stray payment', async () => {
  await serve();

  const [request] = subject.wallet.requestsTo(routes.reverse);
  const token = tokens.make(merchantId, reversalId);
  expect(request?.headers).toMatchObject({
    'x-correlationid': correlationId(reversalId),
    'x-callback-url': `https://gatehouse.example/callbacks/walleta/${reversalId}/${token}`,
  });
  expect(JSON.parse(request?.body ?? '')).toMatchObject({
    requestingOrganisationTransactionReference: reversalId,
  });
});

test('a request that may have been sent is queried, and sent again under the same name', async () => {
  subject.wallet.on(routes.responses, json(404, notFound));

  await serve({ sentBefore: true });

  const [looked] = subject.wallet.requestsTo(routes.responses);
  expect(looked?.target).toContain(correlationId(reversalId));
  expect(subject.wallet.requestsTo(routes.reverse)).toMatchObject([
    { headers: { 'x-correlationid': correlationId(reversalId) } },
  ]);
});

test('the next request counts as the first when nothing of the first one was sent, but not after a later request', async () => {
  subject.wallet.on(routes.token, json(503, {}), json(200, token), json(503, {}));
  subject.wallet.on(routes.responses, json(404, notFound));

  const { outcome: first } = await serve();
  const { outcome: later } = await serve({ sentBefore: true });

  expect(first).toMatchObject({ case: 'pending', value: { notSent: true } });
  expect(later).not.toMatchObject({ value: { notSent: true } });
});

test('a refusal of the first request is definite', async () => {
  subject.wallet.on(routes.reverse, saysNo);

  const { outcome } = await serve();

  expect(outcome).toMatchObject({
    case: 'refused',
    value: { definite: true, reason: expect.stringMatching(/^[a-z_]+$/) },
  });
});

test.each([
  ['by its acknowledgement', {}],
  ['by the reference it gave', { sentBefore: true, providerReference: `requeststates/${reversalStateId}` }],
])('a reversal that the wallet reports as failed, found %s, is definitely refused', async (_name, leased) => {
  subject.wallet.on(routes.reversalState, json(200, failed));
  subject.wallet.on(routes.responses, json(200, { link: `/requeststates/${reversalStateId}` }));

  const { outcome } = await serve(leased);

  expect(outcome).toMatchObject({ case: 'refused', value: { definite: true } });
});

test.each([
  ['the requested money', '99', 'ETB', { case: 'done' }],
  [
    'another amount',
    '50',
    'ETB',
    { case: 'pending', value: { detail: expect.stringContaining('50 ETB instead') } },
  ],
  [
    'another currency',
    '99',
    'USD',
    { case: 'pending', value: { detail: expect.stringContaining('99 USD instead') } },
  ],
])('a reversal that the wallet completed with %s', async (_, amount, currency, expected) => {
  const returned = { type: 'reversal', requestingOrganisationTransactionReference: reversalId };
  subject.wallet.on(routes.transaction, json(200, transaction({ ...returned, amount, currency })));

  const { outcome } = await serve({ sentBefore: true, providerReference: 'transactions/REF-1' });

  expect(outcome).toMatchObject(expected);
});

test('a refusal of a repeated request is queried for some time, and is never definite', async () => {
  subject.wallet.on(routes.responses, json(404, notFound));
  subject.wallet.on(routes.reverse, saysNo);

  const { outcome: early } = await serve({ sentBefore: true }, 7);
  const { outcome: late } = await serve({ sentBefore: true }, 8);

  expect(early.case).toBe('pending');
  expect(late).toMatchObject({
    case: 'refused',
    value: { definite: false, detail: expect.stringContaining('requested more than once') },
  });
});
