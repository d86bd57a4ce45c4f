import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ReceivedRequests } from '../received-requests.ts';
import { RefusedError, refusedError } from './refusal.ts';
import type { Timers } from '../simulated-wallet.ts';
import {
  patchBody,
  paymentBody,
  requestSchema,
  reversalBody,
  transactionBody,
  uuidParams,
} from './schemas.ts';
import type { PatchBody, PaymentBody, ReversalBody, TransactionBody, UuidParams } from './schemas.ts';
import { requestStateObject, transactionObject } from './transaction.ts';
import type { Transaction } from './transaction.ts';
import { unknownTransaction } from './request-checks.ts';
import type { Answer, RequestOrigin, Wallet } from './wallet.ts';

export interface PaymentEndpointOptions {
  readonly wallet: Wallet;
  readonly received: ReceivedRequests;
  readonly after: Timers;
  readonly hangMs: number;
  readonly now: () => Date;
}

const single = (value: string | string[] | undefined): string | undefined =>
  typeof value === 'string' ? value : undefined;

/** The headers with the client's id and the callback URL. */
export const originOf = ({ headers }: FastifyRequest): RequestOrigin => ({
  correlationId: single(headers['x-correlationid']),
  callbackUrl: single(headers['x-callback-url']),
});

/** Payments, reversals and their states. */
export function addPaymentEndpoints(app: FastifyInstance, options: PaymentEndpointOptions): void {
  const { wallet } = options;
  addTransactionCreation(app, wallet, createAnswerer(options));
  addTransactions(app, wallet);
  addRequestStates(app, wallet);
}

interface AnsweredRequest {
  readonly kind: 'payment' | 'reversal';
  /** The payer's number or the transaction, for the record of the request. */
  readonly subject: string;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** Records the answer of a request, then sends it. @throws RefusedError */
type SendAnswer = (
  answered: AnsweredRequest,
  decide: (origin: RequestOrigin) => Answer | Promise<Answer>,
) => Promise<FastifyReply>;

function createAnswerer({ wallet, received, after, hangMs, now }: PaymentEndpointOptions): SendAnswer {
  function send(decision: Answer, request: FastifyRequest, reply: FastifyReply): FastifyReply {
    switch (decision.kind) {
      case 'accepted':
        // Written with the state of the request on arrival, before any change.
        return reply.code(202).send(requestStateObject(decision.request, 'pending'));
      case 'completed':
        return reply.code(201).send(transactionObject(decision.transaction));
      case 'hangs': {
        reply.hijack();
        const cancelHang = after(hangMs, () => request.raw.socket.destroy());
        request.raw.socket.once('close', cancelHang);
        return reply;
      }
    }
  }

  return async ({ kind, subject, request, reply }, decide) => {
    const origin = originOf(request);
    const note = (outcome: string): void =>
      received.add({
        at: now(),
        wallet: wallet.name,
        kind,
        correlationId: origin.correlationId,
        subject,
        answer: outcome,
      });
    try {
      const decision = await decide(origin);
      note(decision.kind);
      return await send(decision, request, reply);
    } catch (error) {
      if (error instanceof RefusedError) note(error.refusal.code);
      throw error;
    }
  };
}

const numberOf = (parties: PaymentBody['debitParty']): string =>
  parties?.find(({ key }) => key === 'msisdn')?.value ?? '';

/** Payments, refunds and reversals. */
function addTransactionCreation(app: FastifyInstance, wallet: Wallet, sendAnswer: SendAnswer): void {
  /** A payment or a refund, by the type of the transaction. */
  function transact(
    type: string,
    body: PaymentBody,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<FastifyReply> {
    if (type === 'adjustment') {
      const subject = body.originalTransactionReference ?? numberOf(body.creditParty);
      return sendAnswer({ kind: 'reversal', subject, request, reply }, (origin) =>
        wallet.adjust(body, origin),
      );
    }
    const subject = numberOf(body.debitParty);
    return sendAnswer({ kind: 'payment', subject, request, reply }, (origin) => {
      if (type !== 'merchantpay') throw unsupportedType(type);
      return wallet.pay(body, origin);
    });
  }

  app.post<{ Params: { type: string }; Body: PaymentBody }>(
    '/transactions/type/:type',
    { schema: requestSchema({ body: paymentBody }) },
    async (request, reply) => transact(request.params.type, request.body, request, reply),
  );

  app.post<{ Body: TransactionBody }>(
    '/transactions',
    { schema: requestSchema({ body: transactionBody }) },
    async (request, reply) => {
      const { type, ...body } = request.body;
      return transact(type, body, request, reply);
    },
  );

  app.post<{ Params: { reference: string }; Body: ReversalBody }>(
    '/transactions/:reference/reversals',
    { schema: requestSchema({ body: reversalBody }) },
    async (request, reply) => {
      const { body } = request;
      const { reference: subject } = request.params;
      return sendAnswer({ kind: 'reversal', subject, request, reply }, (origin) =>
        wallet.reverse(subject, body, origin),
      );
    },
  );
}

/** Reads and cancels transactions. */
function addTransactions(app: FastifyInstance, wallet: Wallet): void {
  const { book } = wallet;
  function findTransaction(reference: string): Transaction {
    const transaction = book.transaction(reference);
    if (transaction === undefined) throw unknownTransaction(reference);
    return transaction;
  }

  app.get<{ Params: { reference: string } }>(
    '/transactions/:reference',
    { schema: requestSchema() },
    ({ params }) => transactionObject(findTransaction(params.reference)),
  );

  app.patch<{ Params: { reference: string }; Body: PatchBody }>(
    '/transactions/:reference',
    { schema: requestSchema({ body: patchBody }) },
    async ({ params, body }, reply) => {
      const { reference } = findTransaction(params.reference);
      requireOnlyChange(body, '/transactionStatus');
      const open = book.requests().find(({ transaction }) => transaction.reference === reference);
      if (open === undefined || open.transaction.type !== 'merchantpay' || !wallet.decline(open)) {
        throw refusedError('businessRule', 'incorrectState', 'Only an open payment can be cancelled');
      }
      return reply.code(204).send();
    },
  );
}

function addRequestStates(app: FastifyInstance, { book, codeRequests }: Wallet): void {
  app.get<{ Params: UuidParams }>(
    '/requeststates/:id',
    { schema: requestSchema({ params: uuidParams }) },
    ({ params }) => {
      const found = book.request(params.id);
      const codeState = codeRequests.stateOf(params.id);
      if (codeState !== undefined) return codeState;
      if (found === undefined) {
        throw refusedError('identification', 'identifierError', 'There is no such request state', {
          serverCorrelationId: params.id,
        });
      }
      return requestStateObject(found);
    },
  );

  app.get<{ Params: UuidParams }>(
    '/responses/:id',
    { schema: requestSchema({ params: uuidParams }) },
    ({ params }) => {
      const found = book.requestOfClient(params.id);
      const link = codeRequests.linkOf(params.id);
      if (link !== undefined) return { link };
      if (found === undefined) {
        throw refusedError(
          'identification',
          'identifierError',
          'Nothing was created for this X-CorrelationID',
          {
            clientCorrelationId: params.id,
          },
        );
      }
      return { link: `/transactions/${found.transaction.reference}` };
    },
  );
}

const unsupportedType = (type: string): RefusedError =>
  refusedError('businessRule', 'transactionTypeError', 'This wallet takes merchantpay and adjustment only', {
    transactionType: type.slice(0, 256) || 'empty',
  });

/** Cancelling is the only change that a client may make. @throws RefusedError */
export function requireOnlyChange(body: PatchBody, path: string): void {
  const [change] = body;
  if (body.length === 1 && change?.op === 'replace' && change.path === path && change.value === 'cancelled')
    return;
  const problem = `must replace ${path} by cancelled, and nothing else`;
  throw refusedError('validation', 'formatError', `The body ${problem}`, { body: problem });
}
