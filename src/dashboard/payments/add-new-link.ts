import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { typedPhone } from '../../contract/typed-phone.ts';
import { PaymentType } from '../../gen/gatehouse/v1/order_pb.js';
import { pathIn, pageMerchantOf, scopeOf } from '../access/page-context.ts';
import { tryCall, callOptions } from '../try-call.ts';
import type { Dashboard } from '../dashboard.ts';
import { emptyForm, readForm } from '../forms/read-form.ts';
import type { FormState } from '../forms/read-form.ts';
import { paymentLinks as amharic } from '../language/amharic/payment-links.ts';
import { paymentLinks as english } from '../language/english/payment-links.ts';
import { wallets as amharicWallets } from '../language/amharic/wallets.ts';
import { wallets as englishWallets } from '../language/english/wallets.ts';
import { wordsFor } from '../language/words.ts';
import { shellWords } from '../send-page.ts';
import { flash } from '../session/sign-in-state.ts';
import { linkAmountProblem, linkCurrencyProblem } from './link-problems.ts';
import type { LinkRules } from './link-problems.ts';
import { orderWords } from './order-words.ts';

const dictionary = { en: english, am: amharic };
const walletDictionary = { en: englishWallets, am: amharicWallets };
type LinkWords = typeof english;

const NewLink = Type.Object({
  amount: Type.String({ maxLength: 20 }),
  currency: Type.String({ pattern: '^[A-Za-z]{3}$' }),
  reason: Type.String({ maxLength: 255 }),
  type: Type.Union([Type.Literal('LINK'), Type.Literal('QR')]),
  lifetime: Type.String({ pattern: '^[0-9]{3,7}$' }),
  order_number: Type.String({ maxLength: 64 }),
  customer_phone: Type.Optional(Type.String({ maxLength: 32 })),
});

/** The form that creates a payment link. */
export function addNewLink(app: FastifyInstance, { clients, sendPage, randomBytes }: Dashboard): void {
  const path = '/m/:merchantId/:environment/links';

  const currenciesOf = async (request: FastifyRequest): Promise<readonly string[]> => {
    const { merchantId } = pageMerchantOf(request);
    return (await clients.merchants.getMerchant({ merchantId }, callOptions(request))).currencies;
  };

  const rulesOf = async (request: FastifyRequest): Promise<LinkRules> => {
    const { merchantId } = pageMerchantOf(request);
    const [{ merchant, currencies }, own] = await Promise.all([
      clients.merchants.getMerchant({ merchantId }, callOptions(request)),
      clients.merchantWallets.listMerchantWallets(scopeOf(request), callOptions(request)),
    ]);
    return {
      currencies,
      largestAmounts: merchant?.terms?.largestAmounts ?? [],
      merchantWallets: own.wallets,
      wallets: request.wallets.wallets,
    };
  };

  /** The problems of the amount and the currency that core refused. */
  const moneyProblems = async (
    request: FastifyRequest,
    amount: string,
    currency: string,
  ): Promise<Readonly<Record<string, string | undefined>>> => {
    const rules = await rulesOf(request);
    const { form } = wordsFor(request, dictionary);
    return {
      amount: linkAmountProblem(amount, currency, rules, {
        form,
        amountProblems: wordsFor(request, orderWords).amountProblems,
        range: wordsFor(request, walletDictionary).range,
        language: request.language,
      }),
      currency: linkCurrencyProblem(currency, rules, { form }),
    };
  };

  const showForm = async (
    request: FastifyRequest,
    reply: FastifyReply,
    { form, status = 200, refused }: { form: FormState; status?: number; refused?: string },
  ): Promise<FastifyReply> => {
    const currencies = await currenciesOf(request);
    const words = wordsFor(request, dictionary);
    const links = pathIn(pageMerchantOf(request), 'links');
    reply.code(status);
    return sendPage(request, reply, {
      template: 'payments/new-link',
      title: words.form.title,
      area: 'links',
      words,
      self: `${links}/new`,
      view: {
        path: links,
        form,
        currencies,
        refused,
        types: Object.entries(words.form.types),
        lifetimes: Object.entries(words.form.lifetimes),
      },
    });
  };

  app.get(`${path}/new`, (request, reply) => {
    // The form contains the order_number, so that sending it twice creates one link.
    const order_number = `L-${randomBytes(6).toString('hex').toUpperCase()}`;
    const form = emptyForm({ type: 'LINK', lifetime: '86400', order_number });
    return showForm(request, reply, { form });
  });

  app.post(path, async (request, reply) => {
    const words = wordsFor(request, dictionary);
    const form = readForm(NewLink, request.body, shellWords[request.language].forms, words.form.issues);
    const { amount = '', currency: typedCurrency = '', type, lifetime } = form.values;
    const currency = typedCurrency.toUpperCase();
    const answer = await tryCall(request, (options) =>
      clients.orders.registerOrder(
        {
          ...scopeOf(request),
          orderNumber: form.values['order_number'] ?? '',
          amount,
          currency,
          reason: form.values['reason'] ?? '',
          customerPhone: typedPhone(form.values['customer_phone'] ?? ''),
          paymentType: type === 'QR' ? PaymentType.QR : PaymentType.LINK,
          ...(form.errors['lifetime'] === undefined
            ? { sessionLifetime: durationFromMs(Number(lifetime) * 1000) }
            : {}),
          // One answer marks all fields that are wrong, so core checks the other ones of a form that cannot be sent.
          validateOnly: !form.ok,
        },
        options,
      ),
    );
    if (!answer.ok || !form.ok) {
      const { reason, fields } = answer.ok ? { reason: 'INVALID_FIELDS', fields: [] } : answer.refusal;
      const isMoneyRefused = fields.some(({ field }) => field === 'amount' || field === 'currency');
      const money = isMoneyRefused ? await moneyProblems(request, amount, currency) : {};
      const errors = { ...errorsOf(fields, words, money), ...form.errors };
      const refused = refusedFor(reason, words);
      return showForm(request, reply, {
        form: { ...form, errors },
        status: reason === 'INVALID_FIELDS' ? 400 : 409,
        ...(refused === undefined ? {} : { refused }),
      });
    }
    flash(request, { tone: 'good', text: words.made });
    return reply.redirect(pathIn(pageMerchantOf(request), `links/${answer.value.order?.orderId ?? ''}`), 303);
  });
}

/** The messages of the fields that core refused. */
function errorsOf(
  fields: readonly { readonly field: string }[],
  words: LinkWords,
  money: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const issues: Readonly<Record<string, string>> = words.form.issues;
  return Object.fromEntries(
    fields.map(({ field }) => [field, money[field] ?? issues[field] ?? words.form.wrong]),
  );
}

/** The problems that no field can correct. */
function refusedFor(reason: string, words: LinkWords): string | undefined {
  if (reason === 'MERCHANT_SUSPENDED') return words.form.suspended;
  return reason === 'PRODUCTION_NOT_ACTIVATED' ? words.form.notActivated : undefined;
}
