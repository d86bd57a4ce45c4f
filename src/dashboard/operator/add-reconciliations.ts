import { walletIdPattern } from '../../contract/payment-option.ts';
import { Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { DifferenceKind, ReconciliationStatus } from '../../gen/gatehouse/v1/reconciliation_service_pb.js';
import type { Difference, Reconciliation } from '../../gen/gatehouse/v1/reconciliation_service_pb.js';
import { amountText } from '../../contract/amount-text.ts';
import { tryCall, loadPanel } from '../try-call.ts';
import type { Dashboard } from '../dashboard.ts';
import { emptyForm, readForm } from '../forms/read-form.ts';
import type { FormState } from '../forms/read-form.ts';
import { momentOf } from '../moment-text.ts';
import { notFound } from '../page-problem.ts';
import { shellWords } from '../send-page.ts';
import { adviceOn } from './difference-advice.ts';
import { loadTab } from './environment-tab.ts';
import type { environmentOf } from './operator-writing.ts';
import {
  environmentIn,
  environmentName,
  environmentTabs,
  numberText,
  walletName,
  writingFor,
} from './operator-writing.ts';
import { pageQuery, textIn } from '../page-query.ts';
import type { Writing } from './operator-writing.ts';

const path = '/operator/reconciliations';
const pageSize = 50;
/** The most items in one response of core. */
const maxDifferences = 500;
const dayMs = 24 * 60 * 60_000;

const Start = Type.Object({
  wallet: Type.String({ pattern: walletIdPattern }),
  date: Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\d$' }),
  /** A payee account of merchants. Without it, the operator's account. The page of balances sends it. */
  payee: Type.Optional(Type.String({ maxLength: 8192 })),
});

/** The pages of reconciliations: where a wallet's statement and our records differ, and what to do. */
export function addReconciliations(app: FastifyInstance, dashboard: Dashboard): void {
  const { clients, sendPage, timeZone, now } = dashboard;
  const { reconciliations } = clients;

  const show = async (
    request: FastifyRequest,
    reply: FastifyReply,
    posted?: ReturnType<typeof environmentOf>,
    form: FormState = emptyForm({ date: new Date(now().getTime() - dayMs).toISOString().slice(0, 10) }),
    status = 200,
  ): Promise<FastifyReply> => {
    const writing = writingFor(request, timeZone);
    const words = writing.words.reconciliations;
    const pageToken = textIn(request.query, 'page');
    const load = ({ name, number }: ReturnType<typeof environmentOf>) =>
      loadPanel(request, async (options) => {
        const asked = { environment: number, pageToken, pageSize };
        const answer = await reconciliations.listReconciliations(asked, options);
        return {
          rows: answer.reconciliations.map((each) => dayRow(each, writing)),
          older: pageQuery({ environment: name }, answer.nextPageToken),
        };
      });
    const { environment, shown: days } =
      posted === undefined
        ? await loadTab(request, load, ({ rows }) => rows.length === 0)
        : { environment: posted, shown: await load(posted) };
    reply.code(status);
    return sendPage(request, reply, {
      template: 'operator/reconciliations',
      title: words.title,
      area: 'operatorReconciliations',
      words: writing.words,
      self: request.method === 'POST' ? `${path}?environment=${environment.name}` : undefined,
      view: {
        path,
        environment: environment.name,
        tabs: environmentTabs(path, environment.name, writing),
        isLaterPage: pageToken !== '',
        days,
        form,
        wallets: request.wallets.wallets
          .filter(({ reconciledEnvironments }) => reconciledEnvironments.includes(environment.number))
          .map(({ wallet }) => ({ value: wallet, text: walletName(wallet, writing) })),
      },
    });
  };

  app.get(path, (request, reply) => show(request, reply));

  app.post(path, async (request, reply) => {
    const { words } = writingFor(request, timeZone);
    const environment = environmentIn(request.body);
    const form = readForm(Start, request.body, shellWords[request.language].forms, {
      date: words.reconciliations.start.refused,
    });
    if (!form.ok) return show(request, reply, environment, form, 400);
    const { wallet, date, payee = '' } = form.value;
    const answer = await tryCall(request, (options) =>
      reconciliations.startReconciliation({ wallet, environment: environment.number, date, payee }, options),
    );
    if (answer.ok)
      return reply.redirect(`${path}/${answer.value.reconciliation?.reconciliationId ?? ''}`, 303);
    const { start } = words.reconciliations;
    const isUnknownPayee = answer.refusal.fields.some(({ field }) => field === 'payee');
    const errors = { date: isUnknownPayee ? start.noStatement(payee) : start.refused };
    return show(request, reply, environment, { ...form, errors }, 400);
  });

  app.get(`${path}/:reconciliationId`, async (request, reply) => {
    const writing = writingFor(request, timeZone);
    const words = writing.words.reconciliations;
    const { reconciliationId } = request.params as { readonly reconciliationId: string };
    if (!/^rec_[0-9a-z]{26}$/.test(reconciliationId)) throw notFound('NO_RECONCILIATION_ID');
    const day = await loadPanel(request, async (options) => {
      const [{ reconciliation }, { differences }] = await Promise.all([
        reconciliations.getReconciliation({ reconciliationId }, options),
        reconciliations.listDifferences({ reconciliationId, pageSize: maxDifferences }, options),
      ]);
      if (reconciliation === undefined) throw notFound('RECONCILIATION_NOT_FOUND');
      return {
        ...dayRow(reconciliation, writing),
        title: words.one.title(walletName(reconciliation.wallet, writing), reconciliation.date),
        environment: writing.words.environments[environmentName(reconciliation.environment)],
        back: `${path}?environment=${environmentName(reconciliation.environment)}`,
        detail: reconciliation.detail,
        started: momentOf(reconciliation.createTime, request.language, timeZone),
        due: momentOf(reconciliation.dueTime, request.language, timeZone),
        isCompared: reconciliation.status === ReconciliationStatus.COMPLETED,
        hasMore: reconciliation.differences > differences.length,
        rows: differences.map((difference) => differenceRow(difference, writing)),
      };
    });
    return sendPage(request, reply, {
      template: 'operator/reconciliation',
      title: day.isThere ? day.value.title : words.title,
      area: 'operatorReconciliations',
      words: writing.words,
      view: { path, day },
    });
  });
}

function dayRow(reconciliation: Reconciliation, writing: Writing) {
  const { status, entries, differences, startedBy, startedByEmail, scheduled } = reconciliation;
  const words = writing.words.reconciliations;
  const isCompared = status === ReconciliationStatus.COMPLETED;
  return {
    id: reconciliation.reconciliationId,
    day: reconciliation.date,
    wallet: walletName(reconciliation.wallet, writing),
    payee: reconciliation.payee,
    state: stateOf(status, words),
    entries: numberText(entries, writing),
    differences: isCompared ? numberText(differences, writing) : '',
    differs: isCompared && differences > 0,
    by: scheduled || startedBy === 'core' ? words.byItself : startedByEmail || startedBy,
  };
}

function stateOf(status: ReconciliationStatus, { statuses }: Writing['words']['reconciliations']) {
  switch (status) {
    case ReconciliationStatus.COMPLETED:
      return { tone: 'good', text: statuses.completed };
    case ReconciliationStatus.FAILED:
      return { tone: 'bad', text: statuses.failed };
    case ReconciliationStatus.RUNNING:
      return { tone: 'info', text: statuses.running };
    default:
      return { tone: 'info', text: statuses.waiting };
  }
}

function differenceRow(difference: Difference, writing: Writing) {
  const words = writing.words.reconciliations.one;
  const side = (amount: string, currency: string, status: string): string =>
    amount === '' && status === ''
      ? words.nothing
      : `${amount === '' ? '' : amountText(amount, currency, writing.language)} ${words.statuses[status] ?? status}`.trim();
  const { walletAmount, walletCurrency, walletStatus, ourAmount, ourCurrency, ourStatus } = difference;
  return {
    number: difference.number,
    kind: kindText(difference.kind, words),
    transaction: difference.providerTransactionId,
    wallet: side(walletAmount, walletCurrency, walletStatus),
    ours: side(ourAmount, ourCurrency, ourStatus),
    advice: words.advice[adviceOn(difference)] ?? '',
    inEnglish: difference.advice,
    merchantId: difference.merchantId,
  };
}

function kindText(kind: DifferenceKind, { kinds }: Writing['words']['reconciliations']['one']): string {
  switch (kind) {
    case DifferenceKind.MISSING_IN_STATEMENT:
      return kinds.missingInStatement;
    case DifferenceKind.MISSING_HERE:
      return kinds.missingHere;
    case DifferenceKind.AMOUNT_DIFFERS:
      return kinds.amount;
    case DifferenceKind.STATUS_DIFFERS:
      return kinds.status;
    case DifferenceKind.UNREADABLE:
      return kinds.unreadable;
    case DifferenceKind.OTHER_ACCOUNT:
      return kinds.otherAccount;
    default:
      return kinds.unknown;
  }
}
