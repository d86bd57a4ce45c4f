import { timestampDate, timestampMs } from '@bufbuild/protobuf/wkt';
import { createdAtOf, isPublicId } from '../../contract/public-id.ts';
import type { Environment } from '../../gen/gatehouse/v1/order_pb.js';
import { RecoveryStream } from '../../gen/gatehouse/v1/recovery_service_pb.js';
import type { Recovery } from '../../gen/gatehouse/v1/recovery_service_pb.js';
import type { Language } from '../../platform/language/language.ts';
import type { home } from '../language/english/home.ts';
import { momentOf } from '../moment-text.ts';

/** How long the home page shows merchants that a recovery has ended. Shops repeat their requests within days, if at all. */
const shownForMs = 7 * 86_400_000;

/**
 * The notice to a merchant about the latest recovery: that payments wait, or which time it has to check. Undefined without a recovery
 * in the last days, and for a merchant that was created after it. A lost merchant that was created again has the id of the lost time.
 */
export function recoveryNotice(
  recovery: Recovery | undefined,
  { environment, merchantId }: { readonly environment: Environment; readonly merchantId: string },
  words: typeof home.recovery,
  { now, language, timeZone }: { readonly now: Date; readonly language: Language; readonly timeZone: string },
): { readonly tone: string; readonly title: string; readonly body: string } | undefined {
  if (recovery?.lostUntilTime === undefined) return undefined;
  const isHeld = recovery.heldMerchants.some(
    (held) => held.environment === environment && held.merchantId === merchantId,
  );
  if (isHeld || recovery.closedEnvironments.includes(environment)) return { tone: 'warn', ...words.waiting };
  if (now.getTime() - timestampMs(recovery.lostUntilTime) > shownForMs) return undefined;
  if (isPublicId('mer', merchantId) && createdAtOf('mer', merchantId) > timestampDate(recovery.lostUntilTime))
    return undefined;
  const from = momentOf(recovery.lostFromTime, language, timeZone)?.text ?? '';
  const until = momentOf(recovery.lostUntilTime, language, timeZone)?.text ?? '';
  const isComplete = recovery.stream === RecoveryStream.COMPLETE && recovery.conflictingOrderCount === 0;
  const orders = isComplete ? words.rebuilt(from, until) : words.mayBeMissing(from, until);
  return { tone: 'warn', title: words.title, body: `${orders} ${words.check}` };
}
