import { Type } from '@sinclair/typebox';
import { headerText, secretHeaderText, secretText } from '../connector/connector-kind.ts';
import type { ConnectorKind } from '../connector/connector-kind.ts';
import { gsmaCapabilities } from './gsma-capabilities.ts';

const text = (description: string) => Type.String({ minLength: 1, description });

const settings = Type.Object(
  {
    base_url: Type.String({
      pattern: '^https?://[^\\s/?#]+',
      description: 'The base of all paths of the API, such as https://api.wallet.example/mm/v1.2.',
    }),
    token_path: Type.Optional(
      text(
        'Where access tokens are issued: a path below base_url, or a URL. /v1/oauth/accesstoken when absent.',
      ),
    ),
    client_id: headerText('The OAuth client id that the wallet issued.'),
    client_secret: secretText('The OAuth client secret that the wallet issued.'),
    api_key: secretHeaderText('The X-API-Key that the wallet issued.'),
    payee: Type.Object(
      {
        // Both are parts of a path. A part of only dots would lead to another one.
        type: Type.String({
          pattern: '^[A-Za-z]+$',
          description: "The type of the account's identifier, such as accountid.",
        }),
        id: Type.String({ pattern: '[^.]', description: 'The identifier of the account.' }),
      },
      { additionalProperties: false, description: 'The account that receives payments.' },
    ),
  },
  { additionalProperties: false },
);

/** The GSMA Mobile Money API 1.2. */
export const gsma: ConnectorKind<typeof settings> = {
  name: 'gsma',
  settings,
  merchantSettings: ['client_id', 'client_secret', 'api_key', 'payee'],
  payeeSettings: ['payee'],
  capabilities: gsmaCapabilities,
  load: async () => {
    const { GsmaConnector } = await import('./gsma-connector.ts');
    return (given, { callbackBaseUrl, currencies, timeouts, lookup, maxConnections, now }) =>
      new GsmaConnector(
        {
          baseUrl: given.base_url,
          tokenPath: given.token_path ?? '/v1/oauth/accesstoken',
          clientId: given.client_id,
          clientSecret: given.client_secret,
          apiKey: given.api_key,
          payee: given.payee,
          get callbackBaseUrl() {
            return callbackBaseUrl();
          },
          currencies,
          timeouts,
          lookup,
          maxConnections,
        },
        now,
      );
  },
};
