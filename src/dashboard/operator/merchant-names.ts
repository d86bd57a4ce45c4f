import type { FastifyRequest } from 'fastify';
import parallel from 'it-parallel';
import { noMerchantId } from '../../contract/public-id.ts';
import { loadPanel } from '../try-call.ts';
import type { DashboardClients } from '../clients.ts';
import { failureOfRpc } from '../rpc-failure.ts';

/** The number of merchants that are requested at once. A page of 50 would otherwise take as many of core's connections to the database. */
const maxAtOnce = 8;

/**
 * The names of a page's merchants by their ids; empty while core is unavailable. A merchant that core does not know, for example because
 * a restored backup lacks it, is named by its id.
 */
export async function merchantNames(
  request: FastifyRequest,
  { merchants }: Pick<DashboardClients, 'merchants'>,
  of: readonly { readonly merchantId: string }[],
): Promise<ReadonlyMap<string, string>> {
  const ids = [...new Set(of.map(({ merchantId }) => merchantId))].filter((id) => id !== noMerchantId);
  const names = await loadPanel(request, async (options) => {
    const calls = ids.map((merchantId) => async () => {
      try {
        const { merchant } = await merchants.getMerchant({ merchantId }, options);
        return [merchantId, merchant?.name ?? merchantId] as const;
      } catch (thrown) {
        if (failureOfRpc(thrown)?.problem !== 'notFound') throw thrown;
        return [merchantId, merchantId] as const;
      }
    });
    const found = new Map<string, string>();
    for await (const [id, name] of parallel(calls, { concurrency: maxAtOnce })) found.set(id, name);
    return found;
  });
  return names.isThere ? names.value : new Map();
}
