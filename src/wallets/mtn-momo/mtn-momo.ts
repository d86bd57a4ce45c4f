import { Type } from '@sinclair/typebox';
import type { Static } from '@sinclair/typebox';
import { secretHeaderText, secretText } from '../connector/connector-kind.ts';
import type { ConnectorKind } from '../connector/connector-kind.ts';
import type { WalletCapabilities } from '../connector/wallet-connector.ts';

const apiUser = Type.String({
  pattern: '^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$',
  description: 'The API user, a UUID. The partner portal shows it; in the sandbox you choose it.',
});

const settings = Type.Object(
  {
    base_url: Type.String({
      pattern: '^https?://',
      description:
        'The host of the API, such as https://sandbox.momodeveloper.mtn.com or https://proxy.momoapi.mtn.com.',
    }),
    target_environment: Type.String({
      pattern: '^[a-z]{2,40}$',
      description: 'The value of X-Target-Environment: sandbox, or the country, such as mtnuganda.',
    }),
    collection_subscription_key: secretHeaderText(
      'The primary key of the Collection product, from the portal.',
    ),
    collection_api_user: apiUser,
    collection_api_key: secretText('The API key of the API user of Collection.'),
    disbursement_subscription_key: Type.Optional(
      secretHeaderText('The primary key of the Disbursement product, from the portal. Refunds need it.'),
    ),
    disbursement_api_user: Type.Optional(apiUser),
    disbursement_api_key: Type.Optional(secretText('The API key of the API user of Disbursement.')),
    provider_callback_host: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9.-]+$',
        description:
          'The callback host that is registered for the API user. If it is not the host of the callback base URL, ' +
          'no callback is requested, because MTN would refuse the payment.',
      }),
    ),
  },
  { additionalProperties: false },
);

export type MtnMomoSettings = Static<typeof settings>;

const capabilities: WalletCapabilities = {
  idempotentInitiate: true,
  payerNeedsAnswer: false,
  // A lost request is recovered before it is queried, so that a request that never arrived is sent again.
  queryBy: 'provider_reference',
  recovery: true,
  reversal: true,
  partialReversal: true,
  statement: false,
  callbackMethod: 'PUT',
  callbackAuthentication: 'unguessable_url',
};

/** The MTN MoMo Open API: Collection for payments, and Disbursement for refunds. */
export const mtnMomo: ConnectorKind<typeof settings> = {
  name: 'mtn-momo',
  settings,
  merchantSettings: [
    'collection_subscription_key',
    'collection_api_user',
    'collection_api_key',
    'disbursement_subscription_key',
    'disbursement_api_user',
    'disbursement_api_key',
    'provider_callback_host',
  ],
  // Otherwise the operator's account would pay the refunds of payments that the merchant's account got.
  boundSettings: [
    {
      account: ['collection_subscription_key', 'collection_api_user', 'collection_api_key'],
      bound: ['disbursement_subscription_key', 'disbursement_api_user', 'disbursement_api_key'],
    },
  ],
  payeeSettings: ['collection_api_user'],
  capabilities,
  load: async () => {
    const { MtnMomoConnector } = await import('./mtn-momo-connector.ts');
    return (given, options) => {
      const disbursement = disbursementOf(given);
      const refunds = disbursement !== undefined;
      return new MtnMomoConnector(
        {
          baseUrl: given.base_url,
          targetEnvironment: given.target_environment,
          collection: {
            subscriptionKey: given.collection_subscription_key,
            apiUser: given.collection_api_user,
            apiKey: given.collection_api_key,
          },
          disbursement,
          providerCallbackHost: given.provider_callback_host,
        },
        { ...capabilities, reversal: refunds, partialReversal: refunds },
        options,
      );
    };
  },
};

/**
 * The credentials of Disbursement; undefined if none are configured.
 * @throws Error that names the settings when only some are configured, because refunds would be missing silently
 */
function disbursementOf(given: MtnMomoSettings) {
  const {
    disbursement_subscription_key: subscriptionKey,
    disbursement_api_user: user,
    disbursement_api_key: apiKey,
  } = given;
  if (subscriptionKey === undefined || user === undefined || apiKey === undefined) {
    if (subscriptionKey === undefined && user === undefined && apiKey === undefined) return undefined;
    throw new Error(
      'give all of disbursement_subscription_key, disbursement_api_user and disbursement_api_key, or none',
    );
  }
  return { subscriptionKey, apiUser: user, apiKey };
}
