import type { KeyObject } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { Duration } from '@bufbuild/protobuf/wkt';
import type { HandlerContext } from '@connectrpc/connect';
import {
  ApiKeySchema,
  ApiKeyScope as ScopeMessage,
  ApiKeyService,
} from '../../gen/gatehouse/v1/api_key_service_pb.js';
import type { ApiKey as ApiKeyMessage } from '../../gen/gatehouse/v1/api_key_service_pb.js';
import type { FairCalls } from '../../platform/fair-calls.ts';
import { annotate } from '../../platform/rpc/call-context.ts';
import { rpcError } from '../../contract/error-reason.ts';
import { rpcService } from '../../contract/rpc-service.ts';
import type { RpcService } from '../../platform/rpc/rpc-service.ts';
import { actorOf } from '../../platform/rpc/actor.ts';
import {
  apiKeyScopes,
  isUsable,
  maxUsableKeys,
  maxUsableKeysInRotation,
} from '../domain/api-key-life-cycle.ts';
import type { ApiKeyScope } from '../domain/api-key-life-cycle.ts';
import { combine } from '../domain/combine.ts';
import type { Issue } from '../domain/issue.ts';
import type { Environment } from '../domain/order.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';
import { parseText } from '../domain/text.ts';
import type { FindMerchant } from '../merchants/find-merchant.ts';
import { refuseMerchant } from '../merchants/find-merchant.ts';
import { environmentNumbers, parseEnvironment, parseOptionalEnvironment } from '../rpc/environment.ts';
import { parseId, valuesOrThrow } from '../rpc/request-fields.ts';
import type { ApiKey, ApiKeyStore } from './api-key-store.ts';
import { environmentOfApiKey, formatApiKey, hashApiKey, shownPrefix } from './api-key-text.ts';
import type { PublicId } from '../../contract/public-id.ts';

export interface ApiKeyServiceParts {
  readonly store: ApiKeyStore;
  /** Limits the calls that change keys at a time, by merchant. */
  readonly fairly: FairCalls;
  /** Reads the database without a cache, because authentication must use the present state. */
  readonly findMerchant: FindMerchant;
  readonly pepper: KeyObject;
  readonly randomBytes: (size: number) => Buffer;
  readonly now: () => Date;
}

const labelLength = 64;
const maxListed = 500;
const secretBytes = 32;
const standardOverlapSeconds = 24 * 60 * 60;
const maxOverlapSeconds = 30 * 24 * 60 * 60;

/** gatehouse.v1.ApiKeyService. */
export function apiKeyService({
  store,
  fairly,
  findMerchant,
  pepper,
  randomBytes,
  now,
}: ApiKeyServiceParts): RpcService {
  const makeKey = (environment: Environment) => {
    const secret = formatApiKey(environment, randomBytes(secretBytes));
    return { secret, stored: { prefix: shownPrefix(secret), hash: hashApiKey(secret, pepper) } };
  };
  const authenticate = async (key: string, environment: Environment) => {
    if (environmentOfApiKey(key) !== environment) throw invalidApiKey();
    const found = await store.findByHash(hashApiKey(key, pepper));
    if (found === undefined || found.environment !== environment || !isUsable(found, now()))
      throw invalidApiKey();
    const merchant = await findMerchant(found.merchantId);
    if (merchant === undefined) throw invalidApiKey();
    const whose = { merchant_id: found.merchantId, api_key_id: found.id };
    const refusal = refuseMerchant(merchant, environment, whose);
    if (refusal !== undefined) throw refusal;
    const { requestsPerSecond, endedOrdersVersion } = merchant;
    return { key: found, requestsPerSecond, endedOrdersVersion };
  };
  /** Makes the changes of a merchant's keys take turns. Each would hold a connection while it waits for the others. */
  const inTurn = <T>(
    merchantId: PublicId<'mer'>,
    { signal }: Pick<HandlerContext, 'signal'>,
    change: () => Promise<T>,
  ) => fairly({ owner: `api-keys ${merchantId}` }, signal, change);

  return rpcService(
    ApiKeyService,
    {
      async authenticateApiKey(request, context) {
        const environment = valuesOrThrow(parseEnvironment(request.environment));
        const { key, ...ofMerchant } = await authenticate(request.apiKey, environment);
        await store.touch(key);
        annotate(context, { merchant_id: key.merchantId, api_key_id: key.id });
        const scopes = key.scopes.map((scope) => scopeNumbers[scope]);
        return { merchantId: key.merchantId, apiKeyId: key.id, scopes, ...ofMerchant };
      },
      async issueApiKey(request, context) {
        const { merchantId, environment, label, scopes } = valuesOrThrow(
          combine({
            merchantId: parseId('mer', request.merchantId, 'merchant_id'),
            environment: parseEnvironment(request.environment),
            label: parseText(request.label, 'label', { max: labelLength, required: false }),
            scopes: parseScopes(request.scopes),
          }),
        );
        await requireKnown(findMerchant, merchantId);
        const { secret, stored } = makeKey(environment);
        const wanted = { merchantId, environment, label, scopes, ...stored };
        const added = await inTurn(merchantId, context, () => store.add(wanted, actorOf(context)));
        if (!added.ok) throw tooManyApiKeys(maxUsableKeys);
        annotate(context, { merchant_id: merchantId, api_key_id: added.value.id });
        return { apiKey: apiKeyMessage(added.value), secret };
      },
      async rotateApiKey(request, context) {
        const { merchantId, apiKeyId, overlapMs } = valuesOrThrow(
          combine({
            merchantId: parseId('mer', request.merchantId, 'merchant_id'),
            apiKeyId: parseId('key', request.apiKeyId, 'api_key_id'),
            overlapMs: parseOverlap(request.overlap),
          }),
        );
        let secret = '';
        const makeStored = (environment: Environment) => {
          const made = makeKey(environment);
          secret = made.secret;
          return made.stored;
        };
        const rotated = await inTurn(merchantId, context, () =>
          store.replace(merchantId, apiKeyId, makeStored, overlapMs, actorOf(context)),
        );
        if (!rotated.ok) {
          if (rotated.error === 'too_many') throw tooManyApiKeys(maxUsableKeysInRotation);
          throw rotated.error === 'not_found' ? apiKeyNotFound(apiKeyId) : apiKeyNotUsable(apiKeyId);
        }
        annotate(context, { merchant_id: merchantId, api_key_id: rotated.value.added.id });
        return {
          apiKey: apiKeyMessage(rotated.value.added),
          secret,
          replaced: apiKeyMessage(rotated.value.replaced),
        };
      },
      async revokeApiKey(request, context) {
        const { merchantId, apiKeyId } = valuesOrThrow(
          combine({
            merchantId: parseId('mer', request.merchantId, 'merchant_id'),
            apiKeyId: parseId('key', request.apiKeyId, 'api_key_id'),
          }),
        );
        const revoked = await inTurn(merchantId, context, () =>
          store.revoke(merchantId, apiKeyId, actorOf(context)),
        );
        if (revoked === undefined) throw apiKeyNotFound(apiKeyId);
        annotate(context, { merchant_id: merchantId, api_key_id: apiKeyId });
        return { apiKey: apiKeyMessage(revoked) };
      },
      async setApiKeyScopes(request, context) {
        const { merchantId, apiKeyId, scopes } = valuesOrThrow(
          combine({
            merchantId: parseId('mer', request.merchantId, 'merchant_id'),
            apiKeyId: parseId('key', request.apiKeyId, 'api_key_id'),
            scopes: parseScopes(request.scopes),
          }),
        );
        const changed = await inTurn(merchantId, context, () =>
          store.setScopes(merchantId, apiKeyId, scopes, actorOf(context)),
        );
        if (!changed.ok)
          throw changed.error === 'not_found' ? apiKeyNotFound(apiKeyId) : apiKeyNotUsable(apiKeyId);
        annotate(context, { merchant_id: merchantId, api_key_id: apiKeyId });
        return { apiKey: apiKeyMessage(changed.value) };
      },
      async listApiKeys(request) {
        const { merchantId, environment } = valuesOrThrow(
          combine({
            merchantId: parseId('mer', request.merchantId, 'merchant_id'),
            environment: parseOptionalEnvironment(request.environment),
          }),
        );
        await requireKnown(findMerchant, merchantId);
        const keys = await store.list(merchantId, environment, maxListed);
        return { apiKeys: keys.map(apiKeyMessage) };
      },
    },
    {
      authenticateApiKey: ['facade'],
      issueApiKey: ['dashboard', 'operator'],
      rotateApiKey: ['dashboard', 'operator'],
      revokeApiKey: ['dashboard', 'operator'],
      setApiKeyScopes: ['dashboard', 'operator'],
      listApiKeys: ['dashboard', 'operator', 'reader'],
    },
  );
}

/** The same answer for every kind of invalid key, so that it reveals nothing. */
const invalidApiKey = () =>
  rpcError(
    'INVALID_API_KEY',
    'the API key is malformed, unknown, revoked, expired or of the other environment',
  );
const apiKeyNotFound = (apiKeyId: PublicId<'key'>) =>
  rpcError('API_KEY_NOT_FOUND', `the merchant has no key ${apiKeyId}`);
const tooManyApiKeys = (limit: number) =>
  rpcError(
    'TOO_MANY_API_KEYS',
    `the merchant has ${limit} usable keys in this environment; revoke one first`,
  );
const apiKeyNotUsable = (apiKeyId: PublicId<'key'>) =>
  rpcError('API_KEY_NOT_USABLE', `${apiKeyId} has been revoked or has expired; issue a new key instead`);

async function requireKnown(findMerchant: FindMerchant, merchantId: PublicId<'mer'>): Promise<void> {
  if ((await findMerchant(merchantId)) === undefined) {
    throw rpcError('MERCHANT_NOT_FOUND', `there is no merchant ${merchantId}`);
  }
}

const scopeNumbers = { REFUNDS: ScopeMessage.REFUNDS } as const satisfies Record<ApiKeyScope, ScopeMessage>;

function parseScopes(numbers: readonly ScopeMessage[]): Result<ApiKeyScope[], Issue> {
  const scopes = apiKeyScopes.filter((scope) => numbers.includes(scopeNumbers[scope]));
  if (scopes.length === new Set(numbers).size) return ok(scopes);
  return err({ field: 'scopes', issue: `must be ${apiKeyScopes.join(', ')}, or left empty` });
}

/** Milliseconds. */
function parseOverlap(overlap: Duration | undefined): Result<number, Issue> {
  const seconds = overlap === undefined ? standardOverlapSeconds : Number(overlap.seconds);
  if (seconds < 0 || seconds > maxOverlapSeconds || (overlap?.nanos ?? 0) !== 0) {
    return err({ field: 'overlap', issue: 'must be whole seconds from 0s to 2592000s (30 days)' });
  }
  return ok(seconds * 1000);
}

function apiKeyMessage(key: ApiKey): ApiKeyMessage {
  const message = create(ApiKeySchema, {
    apiKeyId: key.id,
    merchantId: key.merchantId,
    environment: environmentNumbers[key.environment],
    prefix: key.prefix,
    label: key.label,
    scopes: key.scopes.map((scope) => scopeNumbers[scope]),
    createTime: timestampFromDate(key.createdAt),
  });
  if (key.lastUsedAt !== null) message.lastUsedTime = timestampFromDate(key.lastUsedAt);
  if (key.expiresAt !== null) message.expireTime = timestampFromDate(key.expiresAt);
  if (key.revokedAt !== null) message.revokeTime = timestampFromDate(key.revokedAt);
  return message;
}
