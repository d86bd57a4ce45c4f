import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';

const text = Type.String({ minLength: 1 });

/** The configuration of a simulated MTN. The names are those of the connector's settings. */
export const credentialsSchema = Type.Object({
  collection_subscription_key: text,
  collection_api_user: text,
  collection_api_key: text,
  disbursement_subscription_key: Type.Optional(text),
  disbursement_api_user: Type.Optional(text),
  disbursement_api_key: Type.Optional(text),
  /** The only accepted X-Target-Environment. */
  target_environment: Type.Optional(text),
  /** The accepted currencies. MTN's own sandbox has only EUR. */
  currencies: Type.Optional(Type.Array(Type.String({ pattern: '^[A-Z]{3}$' }), { minItems: 1 })),
  /** The registered callback host of the configured API users; any host without it. */
  provider_callback_host: Type.Optional(text),
});

export type ProductName = 'collection' | 'disbursement';

export interface ApiUser {
  readonly callbackHost: string | undefined;
  apiKey: string | undefined;
}

export interface MtnCredentials {
  readonly targetEnvironment: string;
  readonly currencies: readonly string[];
  readonly subscriptionKeys: Readonly<Record<ProductName, string | undefined>>;
  /** By their ids in lower case. Provisioned users are added. */
  readonly users: Map<string, ApiUser>;
}

/** The users and keys of valid credentials. */
export function readCredentials(credentials: unknown): MtnCredentials {
  const given = Value.Decode(credentialsSchema, credentials);
  const host = given.provider_callback_host;
  const users = new Map<string, ApiUser>();
  const add = ({ user, key }: { user?: string | undefined; key?: string | undefined }): void => {
    if (user !== undefined) users.set(user.toLowerCase(), { callbackHost: host, apiKey: key });
  };
  add({ user: given.collection_api_user, key: given.collection_api_key });
  add({ user: given.disbursement_api_user, key: given.disbursement_api_key });
  return {
    targetEnvironment: given.target_environment ?? 'sandbox',
    currencies: given.currencies ?? ['EUR'],
    subscriptionKeys: {
      collection: given.collection_subscription_key,
      disbursement: given.disbursement_subscription_key,
    },
    users,
  };
}
