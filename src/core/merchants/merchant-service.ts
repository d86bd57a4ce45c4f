import type { PublicId } from '../../contract/public-id.ts';
import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { HandlerContext } from '@connectrpc/connect';
import {
  MerchantSchema,
  MerchantService,
  MerchantStatus,
} from '../../gen/gatehouse/v1/merchant_service_pb.js';
import type { Merchant as MerchantMessage } from '../../gen/gatehouse/v1/merchant_service_pb.js';
import type { CertificationPart } from '../../contract/certification-checks.ts';
import { annotate } from '../../platform/rpc/call-context.ts';
import { rpcError } from '../../contract/error-reason.ts';
import { rpcService } from '../../contract/rpc-service.ts';
import type { RpcService } from '../../platform/rpc/rpc-service.ts';
import { actorOf } from '../../platform/rpc/actor.ts';
import { pageOf } from '../../platform/rpc/page-token.ts';
import { parsePageSize, parsePageToken } from '../rpc/page-token.ts';
import { combine } from '../domain/combine.ts';
import { parseText } from '../domain/text.ts';
import type { Wallet } from '../domain/wallet.ts';
import { approvalLimitMessages } from '../rpc/refund-policy-message.ts';
import { parseId, parseOptionalId, valuesOrThrow } from '../rpc/request-fields.ts';
import { certificationMessage, parseCertification, partMessagesOf } from './certification-messages.ts';
import { refuseUncertified } from './certifications.ts';
import type { CertificationStore } from './certifications.ts';
import { nameLength, parseSessionLifetime, parseUpdate, termsMessage } from './merchant-requests.ts';
import { contactOf, termsOf } from './merchant-store.ts';
import type { CreateRefusal, Merchant, MerchantStore, StandingAction } from './merchant-store.ts';

const suspensionReasonLength = 255;

export interface MerchantServiceParts {
  readonly store: MerchantStore;
  readonly certifications: CertificationStore;
  /** The certification that a merchant needs before production is activated. */
  readonly requiredCertification: readonly CertificationPart[];
  /** ISO 4217 codes of this deployment. */
  readonly currencies: readonly string[];
  readonly wallets: readonly Wallet[];
}

/** gatehouse.v1.MerchantService */
export function merchantService(parts: MerchantServiceParts): RpcService {
  const { store, certifications, requiredCertification, currencies, wallets } = parts;
  const changeStanding = async (
    merchantId: string,
    action: StandingAction,
    context: HandlerContext,
    details: Readonly<Record<string, string>> = {},
  ) => {
    const changed = await store.changeStanding(requireId(merchantId), action, details, actorOf(context));
    annotate(context, { merchant_id: merchantId });
    if (!changed.ok) throw notFound(merchantId);
    return { merchant: merchantMessage(changed.value) };
  };
  return rpcService(
    MerchantService,
    {
      async createMerchant(request, context) {
        const values = valuesOrThrow(
          combine({
            name: parseText(request.name, 'name', { max: nameLength, required: true }),
            sessionLifetimeSeconds: parseSessionLifetime(request.sessionLifetime),
            lostId: parseOptionalId('mer', request.merchantId, 'merchant_id'),
          }),
        );
        const { productionActivated } = request;
        const refusal = productionActivated ? refuseUncertified(requiredCertification, []) : undefined;
        if (refusal !== undefined) throw refusal;
        const created = await store.create({ ...values, productionActivated }, actorOf(context));
        if (!created.ok) throw creationRefused(created.error, request.merchantId);
        const merchant = created.value;
        annotate(context, { merchant_id: merchant.id });
        return { merchant: merchantMessage(merchant) };
      },
      async getMerchant({ merchantId }) {
        const merchant = merchantOrThrow(await store.find(requireId(merchantId)), merchantId);
        const { currencies: currenciesOfMerchant } = merchant;
        return {
          merchant: merchantMessage(merchant),
          currencies: [...(currenciesOfMerchant.length === 0 ? currencies : currenciesOfMerchant)],
        };
      },
      async listMerchants({ pageSize, pageToken, text: given }) {
        const text = given.trim();
        const filter = text === '' ? [] : [text];
        const { limit, beforeId } = valuesOrThrow(
          combine({
            limit: parsePageSize(pageSize),
            beforeId: parsePageToken(pageToken, 'mer', filter),
            text: parseText(text, 'text', { max: nameLength, required: false }),
          }),
        );
        const page = pageOf(await store.list({ beforeId, text, limit: limit + 1 }), limit, filter);
        return { merchants: page.items.map(merchantMessage), nextPageToken: page.nextPageToken };
      },
      async suspendMerchant({ merchantId, reason }, context) {
        valuesOrThrow(parseText(reason, 'reason', { max: suspensionReasonLength, required: false }));
        return changeStanding(merchantId, 'merchant.suspend', context, { reason });
      },
      async resumeMerchant({ merchantId }, context) {
        return changeStanding(merchantId, 'merchant.resume', context);
      },
      async activateProduction({ merchantId }, context) {
        const id = requireId(merchantId);
        if (
          requiredCertification.length > 0 &&
          !merchantOrThrow(await store.find(id), merchantId).productionActivated
        ) {
          const refusal = refuseUncertified(requiredCertification, await certifications.latest(id));
          if (refusal !== undefined) throw refusal;
        }
        return changeStanding(merchantId, 'merchant.activate_production', context);
      },
      async updateMerchant(request, context) {
        const { merchantId } = request;
        const id = requireId(merchantId);
        const wanted = parseUpdate(request, await store.find(id), { currencies, wallets });
        const updated = await store.update(id, wanted, actorOf(context));
        annotate(context, { merchant_id: merchantId });
        if (updated.ok) return { merchant: merchantMessage(updated.value) };
        if (updated.error === 'not_found') throw notFound(merchantId);
        throw rpcError(
          'CHANGED_MEANWHILE',
          'the merchant was changed since it was read; read it again, then repeat the change',
        );
      },
      async recordCertification(request, context) {
        const { merchantId } = request;
        const run = parseCertification(request);
        const recorded = await certifications.record(requireId(merchantId), run, actorOf(context));
        annotate(context, { merchant_id: merchantId });
        if (recorded === undefined) throw notFound(merchantId);
        return { certifications: recorded.map(certificationMessage) };
      },
      async getCertifications({ merchantId }) {
        const id = requireId(merchantId);
        merchantOrThrow(await store.find(id), merchantId);
        return {
          certifications: (await certifications.latest(id)).map(certificationMessage),
          requiredParts: partMessagesOf(requiredCertification),
        };
      },
    },
    {
      createMerchant: ['dashboard', 'operator'],
      getMerchant: ['dashboard', 'operator', 'reader', 'checkout', 'webhooks'],
      listMerchants: ['dashboard', 'operator', 'reader'],
      suspendMerchant: ['dashboard', 'operator'],
      resumeMerchant: ['dashboard', 'operator'],
      activateProduction: ['dashboard', 'operator'],
      updateMerchant: ['dashboard', 'operator'],
      recordCertification: ['operator'],
      getCertifications: ['dashboard', 'operator', 'reader'],
    },
  );
}

function creationRefused(refusal: CreateRefusal, merchantId: string): Error {
  switch (refusal) {
    case 'may_be_lost':
      return rpcError(
        'MERCHANTS_LOST',
        'a restore may have lost this merchant, and under another id its customers could be charged twice; read the state of the recovery, create lost merchants under their ids, and record that there are no others',
      );
    case 'not_lost':
      return rpcError(
        'MERCHANT_NOT_LOST',
        `no restore can have lost a merchant ${merchantId}; leave its id out`,
      );
    case 'here':
      return rpcError('MERCHANT_NOT_LOST', `the merchant ${merchantId} exists already`);
  }
}

const requireId = (merchantId: string): PublicId<'mer'> =>
  valuesOrThrow(parseId('mer', merchantId, 'merchant_id'));

const notFound = (merchantId: string) => rpcError('MERCHANT_NOT_FOUND', `there is no merchant ${merchantId}`);

function merchantOrThrow(merchant: Merchant | undefined, merchantId: string): Merchant {
  if (merchant === undefined) throw notFound(merchantId);
  return merchant;
}

const statuses = { ACTIVE: MerchantStatus.ACTIVE, SUSPENDED: MerchantStatus.SUSPENDED } as const;

function merchantMessage(merchant: Merchant): MerchantMessage {
  return create(MerchantSchema, {
    merchantId: merchant.id,
    name: merchant.name,
    status: statuses[merchant.status],
    productionActivated: merchant.productionActivated,
    sessionLifetime: { seconds: BigInt(merchant.sessionLifetimeSeconds) },
    createTime: timestampFromDate(merchant.createdAt),
    updateTime: timestampFromDate(merchant.updatedAt),
    terms: termsMessage(termsOf(merchant)),
    contact: contactOf(merchant),
    refundPolicy: { approvalLimits: approvalLimitMessages(merchant) },
    personalDataDays: merchant.personalDataDays,
  });
}
