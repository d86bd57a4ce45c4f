import { timestampMs } from '@bufbuild/protobuf/wkt';
import { ApiKeyScope } from '../../gen/gatehouse/v1/api_key_service_pb.js';
import type { ApiKey } from '../../gen/gatehouse/v1/api_key_service_pb.js';
import type { Language } from '../../platform/language/language.ts';
import type { keys } from '../language/english/keys.ts';
import { momentOf } from '../moment-text.ts';
import type { Moment } from '../moment-text.ts';

export interface KeyRow {
  readonly id: string;
  readonly name: string;
  readonly prefix: string;
  readonly tone: 'good' | 'warn' | undefined;
  readonly state: string;
  readonly isUsable: boolean;
  readonly mayRefund: boolean;
  readonly created: Moment | undefined;
  readonly lastUsed: Moment | undefined;
}

/** Valid keys first. Within both groups the newest first, in core's order. */
export function keyRows(
  apiKeys: readonly ApiKey[],
  words: typeof keys,
  { language, timeZone, now }: { language: Language; timeZone: string; now: Date },
): readonly KeyRow[] {
  const rows = apiKeys.map((key): KeyRow => {
    const { expireTime, revokeTime } = key;
    const isExpired = expireTime !== undefined && timestampMs(expireTime) <= now.getTime();
    const isUsable = revokeTime === undefined && !isExpired;
    const ending = isUsable ? momentOf(expireTime, language, timeZone) : undefined;
    return {
      id: key.apiKeyId,
      name: key.label === '' ? words.unnamed : key.label,
      prefix: key.prefix,
      isUsable,
      mayRefund: key.scopes.includes(ApiKeyScope.REFUNDS),
      tone: ending !== undefined ? 'warn' : isUsable ? 'good' : undefined,
      state:
        revokeTime !== undefined
          ? words.states.revoked
          : isExpired
            ? words.states.expired
            : ending === undefined
              ? words.states.active
              : words.states.ending(ending.text),
      created: momentOf(key.createTime, language, timeZone),
      lastUsed: momentOf(key.lastUsedTime, language, timeZone),
    };
  });
  return [...rows.filter(({ isUsable }) => isUsable), ...rows.filter(({ isUsable }) => !isUsable)];
}
