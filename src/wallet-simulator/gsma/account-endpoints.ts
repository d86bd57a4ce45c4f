import type { FastifyInstance, FastifyReply } from 'fastify';
import { findAccount, merchantAccount, parseAccountId } from './accounts.ts';
import { formatAmount } from '../amount.ts';
import { authorisationCodeObject } from './authorisation-codes.ts';
import { originOf, requireOnlyChange } from './payment-endpoints.ts';
import { refusedError } from './refusal.ts';
import { authorisationCodeBody, codeListQuery, listQuery, patchBody, requestSchema } from './schemas.ts';
import type { AuthorisationCodeBody, CodeListQuery, ListQuery, PatchBody } from './schemas.ts';
import { onStatement, shownStatus, statementEntryObject, transactionObject } from './transaction.ts';
import type { Transaction } from './transaction.ts';
import { unknownTransaction } from './request-checks.ts';
import type { Wallet } from './wallet.ts';

/** One identifier of an account, or several in one path segment. */
interface AccountParams {
  readonly accountId?: string;
  readonly identifierType?: string;
  readonly identifier?: string;
}

interface CodeParams extends AccountParams {
  readonly code: string;
}

const accountPaths = ['/accounts/:accountId', '/accounts/:identifierType/:identifier'] as const;

/** The currency of balances. The contract's balance has only one. */
const homeCurrency = 'ETB';

/** The number of records when a client gives no limit. */
const standardLimit = 50;

/** @throws RefusedError */
const accountOf = ({ accountId, identifierType = '', identifier = '' }: AccountParams): string =>
  findAccount(
    accountId === undefined ? [{ key: identifierType, value: identifier }] : parseAccountId(accountId),
    'account',
  );

/** An account's balance, transactions, statement and authorisation codes. */
export function addAccountEndpoints(app: FastifyInstance, wallet: Wallet): void {
  app.get('/accounts/balance', { schema: requestSchema() }, () => balanceOf(wallet, merchantAccount));
  app.get<{ Params: { reference: string } }>(
    '/statemententries/:reference',
    { schema: requestSchema() },
    ({ params }) => {
      const entry = statementOf(wallet, merchantAccount).find(
        ({ reference }) => reference === params.reference,
      );
      if (entry === undefined) throw unknownTransaction(params.reference);
      return statementEntryObject(entry);
    },
  );
  for (const path of accountPaths) {
    addReadingEndpoints(app, path, wallet);
    addCodeEndpoints(app, path, wallet);
  }
}

function addReadingEndpoints(app: FastifyInstance, path: string, wallet: Wallet): void {
  app.get<{ Params: AccountParams }>(`${path}/balance`, { schema: requestSchema() }, ({ params }) =>
    balanceOf(wallet, accountOf(params)),
  );
  app.get<{ Params: AccountParams; Querystring: ListQuery }>(
    `${path}/transactions`,
    { schema: requestSchema({ querystring: listQuery }) },
    ({ params, query }, reply) => {
      const all = recordsOf(wallet, accountOf(params)).filter((transaction) =>
        matchesQuery(transaction, query),
      );
      return pageOf(all, query, reply).map(transactionObject);
    },
  );
  app.get<{ Params: AccountParams; Querystring: ListQuery }>(
    `${path}/statemententries`,
    { schema: requestSchema({ querystring: listQuery }) },
    ({ params, query }, reply) => {
      const all = statementOf(wallet, accountOf(params)).filter((transaction) =>
        matchesQuery(transaction, query),
      );
      return pageOf(all, query, reply).map(statementEntryObject);
    },
  );
}

function addCodeEndpoints(app: FastifyInstance, path: string, wallet: Wallet): void {
  const { codes } = wallet;
  app.post<{ Params: AccountParams; Body: AuthorisationCodeBody }>(
    `${path}/authorisationcodes`,
    { schema: requestSchema({ body: authorisationCodeBody }) },
    async (request, reply) => {
      const { params, body } = request;
      const answer = wallet.issueCode(accountOf(params), body, originOf(request));
      if (answer.kind === 'accepted') return reply.code(202).send(answer.state);
      const { code } = answer;
      return reply.code(201).send(authorisationCodeObject(code, codes.stateOf(code)));
    },
  );
  app.get<{ Params: AccountParams; Querystring: CodeListQuery }>(
    `${path}/authorisationcodes`,
    { schema: requestSchema({ querystring: codeListQuery }) },
    ({ params, query }, reply) => {
      const all = codes
        .ofAccount(accountOf(params))
        .filter((code) => query.codeState === undefined || codes.stateOf(code) === query.codeState)
        .filter(({ createdAt }) => isWithin(createdAt, query));
      return pageOf(all, query, reply).map((code) => authorisationCodeObject(code, codes.stateOf(code)));
    },
  );
  app.get<{ Params: CodeParams }>(
    `${path}/authorisationcodes/:code`,
    { schema: requestSchema() },
    ({ params }) => {
      const code = codes.find(accountOf(params), params.code);
      return authorisationCodeObject(code, codes.stateOf(code));
    },
  );
  app.patch<{ Params: CodeParams; Body: PatchBody }>(
    `${path}/authorisationcodes/:code`,
    { schema: requestSchema({ body: patchBody }) },
    async ({ params, body }, reply) => {
      const code = codes.find(accountOf(params), params.code);
      requireOnlyChange(body, '/codeState');
      codes.cancel(code);
      return reply.code(204).send();
    },
  );
}

function balanceOf({ ledger }: Wallet, account: string): object {
  const balance = formatAmount(ledger.balance(account, homeCurrency));
  return {
    accountStatus: 'available',
    currentBalance: balance,
    availableBalance: balance,
    reservedBalance: '0',
    unclearedBalance: '0',
    currency: homeCurrency,
  };
}

/** All transactions of an account in any state, like the wallet's records. */
const recordsOf = ({ book }: Wallet, account: string): readonly Transaction[] =>
  book.ofAccount(account).flatMap((transaction) => onStatement(transaction) ?? []);

/** The transactions that moved money. */
const statementOf = (wallet: Wallet, account: string): readonly Transaction[] =>
  recordsOf(wallet, account).filter(({ state }) => state.status === 'completed');

const isWithin = (
  at: Date,
  { fromDateTime, toDateTime }: Pick<ListQuery, 'fromDateTime' | 'toDateTime'>,
): boolean =>
  (fromDateTime === undefined || at >= new Date(fromDateTime)) &&
  (toDateTime === undefined || at <= new Date(toDateTime));

const matchesQuery = (transaction: Transaction, query: ListQuery): boolean =>
  isWithin(transaction.createdAt, query) &&
  (query.transactionStatus === undefined || shownStatus(transaction) === query.transactionStatus) &&
  (query.transactionType === undefined || transaction.type === query.transactionType) &&
  (query.displayType === undefined || transaction.type === query.displayType);

/** @throws RefusedError validation/invalidOffset when the list is shorter than the offset. */
function pageOf<T>(
  all: readonly T[],
  query: Pick<ListQuery, 'limit' | 'offset'>,
  reply: FastifyReply,
): readonly T[] {
  const offset = Number(query.offset ?? 0);
  const limit = Number(query.limit ?? standardLimit);
  if (offset > all.length) {
    throw refusedError('validation', 'invalidOffset', `There are ${all.length} records`, {
      offset: String(offset),
    });
  }
  const records = all.slice(offset, offset + limit);
  void reply
    .header('x-records-available-count', all.length)
    .header('x-records-returned-count', records.length);
  return records;
}
