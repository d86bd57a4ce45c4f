import type { FastifyInstance } from 'fastify';
import { amountText } from '../../contract/amount-text.ts';
import type { WalletDirectory } from '../../contract/wallet-directory.ts';
import type { Environment } from '../../gen/gatehouse/v1/order_pb.js';
import { MissingMoneyDayReason } from '../../gen/gatehouse/v1/reconciliation_service_pb.js';
import type { MissingMoneyDay, MoneyDay } from '../../gen/gatehouse/v1/reconciliation_service_pb.js';
import { loadPanel } from '../try-call.ts';
import type { Dashboard } from '../dashboard.ts';
import { loadTab } from './environment-tab.ts';
import { momentOf } from '../moment-text.ts';
import { merchantNames } from './merchant-names.ts';
import type { environmentOf, Writing } from './operator-writing.ts';
import { environmentTabs, walletName, writingFor } from './operator-writing.ts';
import { pageQuery, textIn } from '../page-query.ts';

const path = '/operator/balances';
const pageSize = 50;

/** The page of balances: the money in each wallet's statement against the recorded money, by day and merchant. */
export function addBalances(app: FastifyInstance, { clients, sendPage, timeZone, now }: Dashboard): void {
  app.get(path, async (request, reply) => {
    const writing = writingFor(request, timeZone);
    const words = writing.words.balances;
    const onlyDifferent = textIn(request.query, 'different') === '1';
    const pageToken = textIn(request.query, 'page');
    const load = ({ name, number }: ReturnType<typeof environmentOf>) =>
      loadPanel(request, async (options) => {
        const asked = { environment: number, onlyDifferent, pageSize, pageToken };
        const { days, missing, nextPageToken } = await clients.reconciliations.listMoneyDays(asked, options);
        const names = await merchantNames(
          request,
          clients,
          days.filter(({ merchantId }) => merchantId !== ''),
        );
        const today = now().toISOString().slice(0, 10);
        const isRead = (wallet: string): boolean => hasStatement(request.wallets, wallet, number);
        return {
          days: days.map((day) => ({
            ...balanceRow(day, names, today, writing),
            compare: isRead(day.wallet) ? comparisonOf(day) : undefined,
          })),
          missing: missing.map((day) => ({
            ...missingRow(day, writing),
            compare: readable.has(day.reason) ? comparisonOf(day) : undefined,
          })),
          older: pageQuery({ environment: name, different: onlyDifferent ? '1' : '' }, nextPageToken),
        };
      });
    const { environment, shown } = await loadTab(
      request,
      load,
      ({ days, missing }) => days.length + missing.length === 0,
    );
    const query = (different: boolean): string =>
      `${path}?environment=${environment.name}${different ? '&different=1' : ''}`;
    return sendPage(request, reply, {
      template: 'operator/balances',
      title: words.title,
      area: 'operatorReconciliations',
      words: writing.words,
      view: {
        tabs: environmentTabs(path, environment.name, writing),
        shown,
        path,
        newest: pageToken === '' ? '' : query(onlyDifferent),
        onlyDifferent,
        environment: environment.name,
        reconciliations: '/operator/reconciliations',
        other: query(!onlyDifferent),
        back: `/operator/reconciliations?environment=${environment.name}`,
      },
    });
  });
}

/** The fields of the form that compares the day again. */
const comparisonOf = ({ wallet, payee, date }: Pick<MoneyDay, 'wallet' | 'payee' | 'date'>) => ({
  wallet,
  payee,
  date,
});

/** The missing days whose statement can be read. */
const readable: ReadonlySet<MissingMoneyDayReason> = new Set([
  MissingMoneyDayReason.WAITING,
  MissingMoneyDayReason.UNREADABLE,
]);

const hasStatement = ({ wallets }: WalletDirectory, wallet: string, environment: Environment): boolean =>
  wallets.some((each) => each.wallet === wallet && each.reconciledEnvironments.includes(environment));

function balanceRow(day: MoneyDay, names: ReadonlyMap<string, string>, today: string, writing: Writing) {
  const words = writing.words.balances;
  const { merchantId, currency, difference } = day;
  const amount = (text: string): string => signedAmount(text, currency, writing);
  const differs = !isZero(difference);
  return {
    date: day.date,
    wallet: walletName(day.wallet, writing),
    payee: day.payee,
    merchant: merchantId === '' ? words.noMerchant : (names.get(merchantId) ?? merchantId),
    merchantId,
    statement: [
      { label: words.parts.statementIn, text: amount(day.statementIn) },
      { label: words.parts.statementOut, text: amount(day.statementOut) },
    ],
    records: [
      { label: words.parts.completed, text: amount(day.completed) },
      { label: words.parts.strays, text: amount(day.strays) },
      { label: words.parts.reversals, text: amount(day.reversals) },
      { label: words.parts.refunds, text: amount(day.refunds) },
    ],
    difference: differs ? amount(difference) : '',
    reconciliation: `/operator/reconciliations/${day.reconciliationId}`,
    state: differs
      ? { tone: 'warn', text: words.states.differs }
      : { tone: 'good', text: words.states.balances },
    provisional: day.date >= today ? words.states.provisional : '',
    corrections: day.corrections.map((correction) => ({
      link: `/operator/reconciliations/${correction.reconciliationId}`,
      when: words.corrected(momentOf(correction.correctTime, writing.language, writing.timeZone)?.text ?? ''),
      before: isZero(correction.difference) ? words.noneBefore : words.before(amount(correction.difference)),
    })),
  };
}

const isZero = (difference: string): boolean => !/[1-9]/.test(difference);

function missingRow(missing: MissingMoneyDay, writing: Writing) {
  const { date, wallet, payee, reason, detail, reconciliationId } = missing;
  const { reasons } = writing.words.balances;
  const words = {
    [MissingMoneyDayReason.UNSPECIFIED]: reasons.waiting,
    [MissingMoneyDayReason.NO_STATEMENT]: reasons.noStatement,
    [MissingMoneyDayReason.WAITING]: reasons.waiting,
    [MissingMoneyDayReason.UNREADABLE]: reasons.unreadable,
    [MissingMoneyDayReason.ACCOUNT_REMOVED]: reasons.accountRemoved,
  };
  return {
    date,
    payee,
    detail,
    reason: words[reason],
    wallet: walletName(wallet, writing),
    reconciliation: reconciliationId === '' ? '' : `/operator/reconciliations/${reconciliationId}`,
    tone: reason === MissingMoneyDayReason.UNREADABLE ? 'warn' : 'info',
  };
}

function signedAmount(text: string, currency: string, { language }: Writing): string {
  const isNegative = text.startsWith('-');
  return `${isNegative ? '\u2212' : ''}${amountText(isNegative ? text.slice(1) : text, currency, language)}`;
}
