import type { Duration } from '@bufbuild/protobuf/wkt';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import { Argument, InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import { ApiKeySchema, ApiKeyScopeSchema } from '../gen/gatehouse/v1/api_key_service_pb.js';
import type { ApiKey, ApiKeyScope } from '../gen/gatehouse/v1/api_key_service_pb.js';
import { Environment, EnvironmentSchema } from '../gen/gatehouse/v1/order_pb.js';
import {
  durationOption,
  environmentOption,
  environmentFilter,
  environmentOrSandbox,
  showEnvironment,
} from './options.ts';
import { requireField } from './output.ts';
import type { Output, Runner } from './output.ts';
import { plainJson, valueOf, wordOf, wordsOf } from './plain-json.ts';
import { fields, table } from './table.ts';
import { showTime } from './time.ts';
import { onMerchant, onMerchantAnd } from './merchant-argument.ts';
import type { FindMerchant } from './merchant-argument.ts';

/** Whether a key is valid at `now`, and until when or since when not. */
function showState({ revokeTime, expireTime }: ApiKey, now: Date): string {
  if (revokeTime !== undefined) return `revoked ${showTime(revokeTime)}`;
  if (expireTime === undefined) return 'valid';
  return `${timestampDate(expireTime) > now ? 'valid until' : 'expired'} ${showTime(expireTime)}`;
}

const showScopes = ({ scopes }: ApiKey): string =>
  scopes.map((scope) => wordOf(ApiKeyScopeSchema, scope) ?? '').join(', ');

function readScopes(text: string): ApiKeyScope[] {
  if (text === 'none') return [];
  return text.split(',').map((word): ApiKeyScope => {
    const scope = valueOf(ApiKeyScopeSchema, word.trim());
    if (scope === undefined)
      throw new InvalidArgumentError(`Use none, or one of: ${wordsOf(ApiKeyScopeSchema).join(', ')}.`);
    return scope;
  });
}

const scopesOption = (): Option =>
  new Option('--scopes <scope,…>', 'what the key may do besides payments: refunds, or none').argParser(
    readScopes,
  );

const describeKey = (key: ApiKey, now: Date, width: number): string =>
  fields(
    [
      ['API key', key.apiKeyId],
      ['Merchant', key.merchantId],
      ['Environment', showEnvironment(key.environment)],
      ['Begins with', key.prefix],
      ['Label', key.label],
      ['Scopes', showScopes(key)],
      ['State', showState(key, now)],
      ['Created', showTime(key.createTime)],
      ['Last used', showTime(key.lastUsedTime, 'never')],
    ],
    width,
  );

const showSecret = (secret: string): string =>
  `${secret}\n\nCopy this key now. Gatehouse does not store it and cannot show it again.`;

/** `key …` */
export function addKeyCommands(program: Command, run: Runner, find: FindMerchant, now: () => Date): void {
  const key = program.command('key').description("create, replace and revoke merchants' API keys");

  onMerchant(
    key
      .command('issue')
      .description('create a key and show it once')
      .addOption(environmentOption().default(Environment.SANDBOX, 'sandbox'))
      .option('--label <text>', 'the purpose of the key, at most 64 characters')
      .addOption(scopesOption()),
    find,
    (merchantId: string, options: { environment: Environment; label?: string; scopes?: ApiKeyScope[] }) =>
      run(async ({ apiKeys }) => {
        const { apiKey, secret } = await apiKeys.issueApiKey({ merchantId, ...options });
        const issued = requireField(apiKey);
        return {
          json: { ...plainJson(ApiKeySchema, issued), secret },
          text: (width) => `${describeKey(issued, now(), width)}\n\n${showSecret(secret)}`,
        };
      }),
  );

  onMerchantAnd(
    key
      .command('rotate')
      .description('create a successor of a key and show it once')
      .addOption(
        durationOption(
          '--overlap <time>',
          'how long the replaced key stays valid, such as 24h (the default)',
        ),
      ),
    new Argument('<api_key_id>', 'the key to replace: key_…'),
    find,
    (merchantId: string, apiKeyId: string, { overlap }: { overlap?: Duration }) =>
      run(async ({ apiKeys }) => {
        const reply = await apiKeys.rotateApiKey({
          merchantId,
          apiKeyId,
          ...(overlap === undefined ? {} : { overlap }),
        });
        const [issued, replaced] = [requireField(reply.apiKey), requireField(reply.replaced)];
        return {
          json: {
            ...plainJson(ApiKeySchema, issued),
            secret: reply.secret,
            replaced: plainJson(ApiKeySchema, replaced),
          },
          text: (width) =>
            [
              describeKey(issued, now(), width),
              showSecret(reply.secret),
              `The key it replaces, ${replaced.apiKeyId}: ${showState(replaced, now())}`,
            ].join('\n\n'),
        };
      }),
  );

  onMerchantAnd(
    key
      .command('set-scopes')
      .description('replace the scopes of a key, such as refunds')
      .addOption(scopesOption().makeOptionMandatory()),
    new Argument('<api_key_id>', 'key_…'),
    find,
    (merchantId: string, apiKeyId: string, { scopes }: { scopes: ApiKeyScope[] }) =>
      run(async ({ apiKeys }) => {
        const changed = requireField(
          (await apiKeys.setApiKeyScopes({ merchantId, apiKeyId, scopes })).apiKey,
        );
        return {
          json: plainJson(ApiKeySchema, changed),
          text: (width) =>
            `${describeKey(changed, now(), width)}\n\nAll processes apply the change within 5 seconds.`,
        };
      }),
  );

  onMerchantAnd(
    key.command('revoke').description('disable a key permanently'),
    new Argument('<api_key_id>', 'key_…'),
    find,
    (merchantId: string, apiKeyId: string) =>
      run(async ({ apiKeys }) => {
        const revoked = requireField((await apiKeys.revokeApiKey({ merchantId, apiKeyId })).apiKey);
        return {
          json: plainJson(ApiKeySchema, revoked),
          text: (width) =>
            `${describeKey(revoked, now(), width)}\n\nAll processes refuse the key within 5 seconds.`,
        };
      }),
  );

  onMerchant(
    key.command('list').description("list a merchant's keys, newest first").addOption(environmentFilter()),
    find,
    (merchantId: string, { environment = Environment.UNSPECIFIED }: { environment?: Environment }) =>
      run(async ({ apiKeys }) => {
        const reply = await apiKeys.listApiKeys({ merchantId, environment });
        return listKeys(
          reply.apiKeys,
          now(),
          [
            `${merchantId} has no keys in ${showEnvironment(environment)}.`,
            `Create a key: gatehouse key issue ${merchantId} --environment ${environmentOrSandbox(environment)}`,
          ].join(' '),
        );
      }),
  );
}

function listKeys(keys: readonly ApiKey[], now: Date, nothing: string): Output {
  const columns = [
    { head: 'API KEY, LABEL', wraps: true },
    { head: 'ENVIRONMENT' },
    { head: 'BEGINS WITH, SCOPES' },
    { head: 'STATE', atMost: 20 },
    { head: 'LAST USED', atMost: 20 },
  ];
  const rows = keys.map((key) => [
    key.label === '' ? key.apiKeyId : `${key.apiKeyId}\n${key.label}`,
    wordOf(EnvironmentSchema, key.environment) ?? '',
    [key.prefix, showScopes(key)].filter(Boolean).join('\n'),
    showState(key, now),
    showTime(key.lastUsedTime, 'never'),
  ]);
  return {
    json: { api_keys: keys.map((key) => plainJson(ApiKeySchema, key)) },
    text: (width) => (rows.length === 0 ? nothing : table(columns, rows, width)),
  };
}
