import type { FastifyRequest } from 'fastify';
import { noMerchantId } from '../../contract/public-id.ts';
import { panel } from '../ask.ts';
import type { DashboardClients } from '../clients.ts';
import { failureOfRpc } from '../rpc-failure.ts';

/**
 * The names of a page's merchants by their ids; empty while core is unavailable. A merchant that core does not know, for example because
 * a restored backup lacks it, is named by its id.
 */
export async function merchantNames(
  request: FastifyRequest,
  { merchants }: DashboardClients,
  of: readonly { readonly merchantId: string }[],
): Promise<ReadonlyMap<string, string>> {
  const ids = [...new Set(of.map(({ merchantId }) => merchantId))].filter((id) => id !== noMerchantId);
  const names = await panel(request, (options) =>
    Promise.all(
      ids.map(async (merchantId) => {
        try {
          const { merchant } = await merchants.getMerchant({ merchantId }, options);
          return [merchantId, merchant?.name ?? merchantId] as const;
        } catch (thrown) {
          if (failureOfRpc(thrown)?.problem !== 'notFound') throw thrown;
          return [merchantId, merchantId] as const;
        }
      }),
    ),
  );
  return new Map(names.isThere ? names.value : []);
}
