import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { pathIn, pageMerchantOf } from '../access/page-context.ts';
import { loadPanel } from '../try-call.ts';
import type { Dashboard } from '../dashboard.ts';
import { noMerchantId } from '../../contract/public-id.ts';
import type { AuditEntry } from '../../gen/gatehouse/v1/audit_service_pb.js';
import { audit as amharic } from '../language/amharic/audit.ts';
import { audit as english } from '../language/english/audit.ts';
import { wordsFor } from '../language/words.ts';
import { shellWords } from '../send-page.ts';
import { momentOf } from '../moment-text.ts';
import { auditQuery, auditTimes, readAuditFilter } from './audit-filter.ts';
import { auditKinds } from '../../contract/audit-kinds.ts';
import { auditActor, auditSentence } from './audit-sentences.ts';
import { merchantNames } from '../operator/merchant-names.ts';

const dictionary = { en: english, am: amharic };
const pageSize = 50;

/** The pages of the audit log: of a merchant for its owners, and of the whole gateway for operators. */
export function addAudit(app: FastifyInstance, dashboard: Dashboard): void {
  app.get('/m/:merchantId/audit', (request, reply) => {
    const { merchantId, ...pageMerchant } = pageMerchantOf(request);
    const path = pathIn({ ...pageMerchant, merchantId, environment: undefined }, 'audit');
    return showAudit(dashboard, request, reply, { merchantId, path });
  });
  app.get('/operator/audit', (request, reply) =>
    showAudit(dashboard, request, reply, { merchantId: '', path: '/operator/audit' }),
  );
}

const isOfMerchant = ({ merchantId }: AuditEntry): boolean =>
  merchantId !== '' && merchantId !== noMerchantId;

async function showAudit(
  { clients, sendPage, timeZone }: Dashboard,
  request: FastifyRequest,
  reply: FastifyReply,
  { merchantId, path }: { readonly merchantId: string; readonly path: string },
): Promise<FastifyReply> {
  const words = wordsFor(request, dictionary);
  const filter = readAuditFilter(request.query, timeZone);
  const problem = filter.isEmptySpan ? shellWords[request.language].forms.emptySpan : undefined;
  const entries = await loadPanel(request, async (options) => {
    if (problem !== undefined) return { older: undefined, rows: [] };
    const listed = await clients.audit.listAuditEntries(
      {
        merchantId,
        pageSize,
        pageToken: filter.page,
        actionKind: filter.kind,
        ...auditTimes(filter, timeZone),
      },
      options,
    );
    const ofMerchants = merchantId === '' ? listed.entries.filter(isOfMerchant) : [];
    const names = await merchantNames(request, clients, ofMerchants);
    return {
      older: listed.nextPageToken === '' ? undefined : path + auditQuery(filter, listed.nextPageToken),
      rows: listed.entries.map((entry) => ({
        id: entry.auditEntryId,
        when: momentOf(entry.createTime, request.language, timeZone),
        who: auditActor(entry, words),
        what: auditSentence(entry, words, request.language),
        merchant: isOfMerchant(entry)
          ? { id: entry.merchantId, name: names.get(entry.merchantId) ?? entry.merchantId }
          : undefined,
        target: entry.targetId,
        requestId: entry.requestId,
        details: Object.entries(entry.details ?? {}).map(([name, value]) => [
          name,
          typeof value === 'string' ? value : JSON.stringify(value),
        ]),
      })),
    };
  });
  reply.code(problem === undefined ? 200 : 400);
  return sendPage(request, reply, {
    template: 'organisation/audit',
    title: words.title,
    area: merchantId === '' ? 'operatorAudit' : 'audit',
    words,
    view: {
      entries,
      filter,
      problem,
      path,
      newest: filter.page === '' ? undefined : path + auditQuery(filter, ''),
      lead: merchantId === '' ? words.operatorLead : words.lead,
      showsMerchants: merchantId === '',
      kinds: auditKinds.map((kind) => [kind, words.kinds[kind]]),
    },
  });
}
