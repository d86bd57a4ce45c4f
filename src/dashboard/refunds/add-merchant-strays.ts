import type { FastifyInstance } from 'fastify';
import { pathIn, pageMerchantOf, scopeOf } from '../access/page-context.ts';
import { loadPanel } from '../try-call.ts';
import type { Dashboard } from '../dashboard.ts';
import { writingFor } from '../operator/operator-writing.ts';
import { pageQuery, textIn } from '../page-query.ts';
import { strayRow } from '../operator/stray-rows.ts';

const pageSize = 50;

/**
 * The list of a merchant's stray payments in an environment. Money that names no order is the merchant's only if it came to the
 * merchant's own account. Core knows the money of shared accounts under no merchant.
 */
export function addMerchantStrays(app: FastifyInstance, { clients, sendPage, timeZone }: Dashboard): void {
  app.get('/m/:merchantId/:environment/stray-payments', async (request, reply) => {
    const writing = writingFor(request, timeZone);
    const pageMerchant = pageMerchantOf(request);
    const path = pathIn(pageMerchant, 'stray-payments');
    const pageToken = textIn(request.query, 'page');
    const strays = await loadPanel(request, async (options) => {
      const asked = { ...scopeOf(request), pageToken, pageSize };
      const answer = await clients.strayPayments.listStrayPayments(asked, options);
      const older = pageQuery({}, answer.nextPageToken);
      return {
        rows: answer.strayPayments.map((stray) => strayRow(stray, writing)),
        older: older === undefined ? undefined : path + older,
      };
    });
    return sendPage(request, reply, {
      template: 'refunds/stray-payments',
      title: writing.words.strays.title,
      area: 'refunds',
      words: writing.words,
      view: {
        refunds: pathIn(pageMerchant, 'refunds'),
        strays,
        newest: pageToken === '' ? undefined : path,
      },
    });
  });
}
