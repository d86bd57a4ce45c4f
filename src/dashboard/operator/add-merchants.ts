import { optionChoices } from '../payments/order-words.ts';
import { create } from '@bufbuild/protobuf';
import { TimestampSchema, durationMs, timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { MerchantStatus } from '../../gen/gatehouse/v1/merchant_service_pb.js';
import type { Merchant } from '../../gen/gatehouse/v1/merchant_service_pb.js';
import { durationText } from '../../platform/language/duration-text.ts';
import { tryCall, callOptions, loadPanel } from '../try-call.ts';
import type { Dashboard } from '../dashboard.ts';
import { emptyForm, fieldOf, fieldsOf, readForm } from '../forms/read-form.ts';
import type { FormState } from '../forms/read-form.ts';
import { requireSeen } from '../forms/require-seen.ts';
import { momentOf } from '../moment-text.ts';
import { PageProblem, notFound } from '../page-problem.ts';
import { shellWords } from '../send-page.ts';
import { flash } from '../session/sign-in-state.ts';
import { certificationLines, uncertifiedText } from './merchant-certification.ts';
import { writingFor } from './operator-writing.ts';
import { pageQuery, queryOf, textIn } from '../page-query.ts';
import type { Writing } from './operator-writing.ts';
import { TermsForm, changeOfForm, formOfMerchant, termsErrors } from './terms-form.ts';

const path = '/operator/merchants';
const pageSize = 50;
const longestName = 128;
/** With fewer merchants, the list needs no search. */
const searchedFrom = 20;

const NewMerchant = Type.Object({
  name: Type.String({ maxLength: longestName }),
  production: Type.Optional(Type.Literal('yes')),
});
const Suspension = Type.Object({ reason: Type.Optional(Type.String({ maxLength: 255 })) });

/** The pages on which operators create merchants and set their terms. */
export function addMerchants(app: FastifyInstance, dashboard: Dashboard): void {
  addList(app, dashboard);
  app.get(`${path}/:merchantId`, (request, reply) => showOne(dashboard, request, reply));
  addTerms(app, dashboard);
  addStateChanges(app, dashboard);
}

function addList(app: FastifyInstance, dashboard: Dashboard): void {
  app.get(path, (request, reply) => showList(dashboard, request, reply));

  app.post(path, async (request, reply) => {
    const { create: words } = writingFor(request, dashboard.timeZone).words.merchants;
    const form = readForm(NewMerchant, request.body, shellWords[request.language].forms);
    if (!form.ok) return showList(dashboard, request, reply, form, 400);
    const { name, production } = form.value;
    const answer = await tryCall(request, (options) =>
      dashboard.clients.merchants.createMerchant(
        { name, productionActivated: production === 'yes' },
        options,
      ),
    );
    if (answer.ok) {
      flash(request, { tone: 'good', text: words.done(name) });
      return reply.redirect(`${path}/${answer.value.merchant?.merchantId ?? ''}`, 303);
    }
    const again = (errors: FormState['errors'], status: number) =>
      showList(dashboard, request, reply, { ...form, errors }, status);
    const { reason } = answer.refusal;
    if (reason === 'CERTIFICATION_REQUIRED') return again({ production: words.uncertified }, 409);
    if (reason === 'MERCHANTS_LOST') return again({ name: words.mayBeLost }, 409);
    return again({ name: shellWords[request.language].forms.malformed }, 400);
  });
}

async function showList(
  dashboard: Dashboard,
  request: FastifyRequest,
  reply: FastifyReply,
  form: FormState = emptyForm(),
  status = 200,
): Promise<FastifyReply> {
  const { clients, sendPage, timeZone } = dashboard;
  const writing = writingFor(request, timeZone);
  const pageToken = textIn(request.query, 'page');
  const text = textIn(request.query, 'text', longestName);
  const list = await loadPanel(request, async (options) => {
    const answer = await clients.merchants.listMerchants({ pageSize, pageToken, text }, options);
    return {
      rows: answer.merchants.map((merchant) => merchantRow(merchant, writing)),
      older: pageQuery({ text }, answer.nextPageToken),
    };
  });
  const isLaterPage = pageToken !== '';
  reply.code(status);
  return sendPage(request, reply, {
    template: 'operator/merchants',
    title: writing.words.merchants.title,
    area: 'operatorMerchants',
    words: writing.words,
    self: path,
    view: {
      path,
      list,
      text,
      hasSearch: text !== '' || isLaterPage || (list.isThere && list.value.rows.length >= searchedFrom),
      form,
      isLaterPage,
      newest: `${path}${queryOf({ text })}`,
    },
  });
}

const idOf = (request: FastifyRequest): string => {
  const { merchantId } = request.params as { readonly merchantId: string };
  if (!/^mer_[0-9a-z]{26}$/.test(merchantId)) throw notFound('NO_MERCHANT_ID');
  return merchantId;
};

async function readMerchant({ clients }: Dashboard, request: FastifyRequest): Promise<Merchant> {
  const { merchant } = await clients.merchants.getMerchant(
    { merchantId: idOf(request) },
    callOptions(request),
  );
  if (merchant === undefined) throw notFound('MERCHANT_NOT_FOUND');
  return merchant;
}

interface Filled {
  readonly form: FormState;
  readonly sandbox: readonly string[];
  readonly production: readonly string[];
  readonly status: number;
  readonly isOverTaken?: boolean;
}

async function showOne(
  dashboard: Dashboard,
  request: FastifyRequest,
  reply: FastifyReply,
  filled?: Filled,
): Promise<FastifyReply> {
  const writing = writingFor(request, dashboard.timeZone);
  const merchant = await readMerchant(dashboard, request);
  const { sandboxPaymentOptions = [], productionPaymentOptions = [] } = merchant.terms ?? {};
  const { merchantId } = merchant;
  const certifications = await dashboard.clients.merchants.getCertifications(
    { merchantId },
    callOptions(request),
  );
  reply.code(filled?.status ?? 200);
  return dashboard.sendPage(request, reply, {
    template: 'operator/merchant',
    title: merchant.name,
    area: 'operatorMerchants',
    words: writing.words,
    self: `${path}/${merchant.merchantId}`,
    view: {
      path,
      merchant: merchantStory(merchant, writing),
      certifications: certificationLines(certifications, writing),
      form: filled?.form ?? emptyForm(formOfMerchant(merchant)),
      sandbox: filled?.sandbox ?? sandboxPaymentOptions,
      production: filled?.production ?? productionPaymentOptions,
      // Without its box, an option that the merchant has would be lost when the form is sent.
      options: optionChoices(writing, [...sandboxPaymentOptions, ...productionPaymentOptions]),
      isOverTaken: filled?.isOverTaken ?? false,
    },
  });
}

function addTerms(app: FastifyInstance, dashboard: Dashboard): void {
  app.post(`${path}/:merchantId/terms`, async (request, reply) => {
    const writing = writingFor(request, dashboard.timeZone);
    const { terms: words } = writing.words.merchants;
    const merchantId = idOf(request);
    const form = readForm(TermsForm, request.body, shellWords[request.language].forms, words.malformed);
    const chosen = (name: string): string[] =>
      fieldsOf(request.body).flatMap(([key, value]) => (key === name ? [value] : []));
    const again = (state: FormState, status: number, isOverTaken = false) =>
      showOne(dashboard, request, reply, {
        form: state,
        sandbox: chosen('sandbox'),
        production: chosen('production'),
        status,
        isOverTaken,
      });
    const seen = new Date(fieldOf(request.body, 'seen'));
    if (form.ok && Number.isNaN(seen.getTime())) return again(form, 409, true);
    // The form shows whole minutes. A time that nobody changed keeps its seconds.
    const shown = formOfMerchant(await readMerchant(dashboard, request));
    const answer = await tryCall(request, (options) =>
      dashboard.clients.merchants.updateMerchant(
        {
          merchantId,
          // One answer marks all fields that are wrong, so core checks the other ones of a form that cannot be sent. No merchant has this
          // time, so core changes nothing.
          expectedUpdateTime: form.ok ? timestampFromDate(seen) : create(TimestampSchema),
          ...changeOfForm(form, { sandbox: chosen('sandbox'), production: chosen('production') }, shown),
        },
        options,
      ),
    );
    if (answer.ok) {
      flash(request, { tone: 'good', text: words.done });
      return reply.redirect(`${path}/${merchantId}`, 303);
    }
    const { problem, fields } = answer.refusal;
    if (form.ok && problem === 'changedMeanwhile') return again(form, 409, true);
    return again({ ...form, errors: { ...termsErrors(fields, writing), ...form.errors } }, 400);
  });
}

/** Suspends, resumes, and activates production. */
function addStateChanges(app: FastifyInstance, dashboard: Dashboard): void {
  const { clients, timeZone } = dashboard;
  const { merchants } = clients;

  /** A change of the merchant. Refused when the merchant has changed since the page was shown, or for the returned reason. */
  const change = (
    action: 'suspend' | 'resume' | 'activate',
    call: (merchantId: string, request: FastifyRequest) => Promise<string | undefined>,
  ): void => {
    app.post(`${path}/:merchantId/${action}`, async (request, reply) => {
      const { words } = writingFor(request, timeZone);
      const merchant = await readMerchant(dashboard, request);
      requireSeen(request.body, updatedText(merchant));
      const refusal = await call(merchant.merchantId, request);
      flash(
        request,
        refusal === undefined
          ? { tone: 'good', text: words.merchants[action].done(merchant.name) }
          : { tone: 'bad', text: refusal },
      );
      return reply.redirect(`${path}/${merchant.merchantId}`, 303);
    });
  };
  change('suspend', async (merchantId, request) => {
    const form = readForm(Suspension, request.body, shellWords[request.language].forms);
    const reason = form.ok ? (form.value.reason ?? '') : (form.values['reason'] ?? '').slice(0, 255);
    await merchants.suspendMerchant({ merchantId, reason }, callOptions(request));
    return undefined;
  });
  change('resume', async (merchantId, request) => {
    await merchants.resumeMerchant({ merchantId }, callOptions(request));
    return undefined;
  });
  change('activate', async (merchantId, request) => {
    const answer = await tryCall(request, (options) => merchants.activateProduction({ merchantId }, options));
    if (answer.ok) return undefined;
    const { problem, reason, facts } = answer.refusal;
    if (reason !== 'CERTIFICATION_REQUIRED') throw new PageProblem(problem, reason);
    return uncertifiedText(facts['missing_parts'] ?? '', merchantId, writingFor(request, timeZone));
  });
}

/** To the millisecond, as core stores it. */
const updatedText = ({ updateTime }: Merchant): string =>
  updateTime === undefined ? '' : timestampDate(updateTime).toISOString();

function merchantRow(merchant: Merchant, { words, language, timeZone }: Writing) {
  const { statuses, activated, notActivated } = words.merchants;
  const isSuspended = merchant.status === MerchantStatus.SUSPENDED;
  return {
    id: merchant.merchantId,
    name: merchant.name,
    isSuspended,
    state: isSuspended ? { tone: 'bad', text: statuses.suspended } : { tone: 'good', text: statuses.active },
    isActivated: merchant.productionActivated,
    production: merchant.productionActivated ? activated : notActivated,
    created: momentOf(merchant.createTime, language, timeZone),
  };
}

function merchantStory(merchant: Merchant, writing: Writing) {
  const { sessionLifetime, updateTime } = merchant;
  return {
    ...merchantRow(merchant, writing),
    lifetime:
      sessionLifetime === undefined
        ? ''
        : durationText(Math.round(durationMs(sessionLifetime) / 1000), writing.language),
    changed: momentOf(updateTime, writing.language, writing.timeZone),
    seen: updatedText(merchant),
    pages: `/m/${merchant.merchantId}/sandbox`,
  };
}
