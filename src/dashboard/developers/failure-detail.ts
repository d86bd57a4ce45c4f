import { DeliveryAttemptResult } from '../../gen/gatehouse/v1/webhook_service_pb.js';
import type { Language } from '../../platform/language/language.ts';

/** The meaning of a failure and the advice, in Amharic, by the result of the attempt. */
const inAmharic: Readonly<Record<DeliveryAttemptResult, string>> = {
  [DeliveryAttemptResult.UNSPECIFIED]: '',
  [DeliveryAttemptResult.DELIVERED]: '',
  [DeliveryAttemptResult.REFUSED]: 'መቀበያው 2xx አልመለሰም። ዌብሁኩን እንዳስቀመጠ 2xx መመለስ አለበት።',
  [DeliveryAttemptResult.GONE]: 'መቀበያው 410 ብሎ ስለመለሰ ቆሟል። ሲሠራ ያስቀጥሉት።',
  [DeliveryAttemptResult.TIMED_OUT]: 'መቀበያው በጊዜው አልመለሰም። ዌብሁኩን እንዳስቀመጠ 2xx ይመልስ፤ ሥራውን ከዚያ በኋላ ያከናውን።',
  [DeliveryAttemptResult.CONNECTION_FAILED]:
    'ከመቀበያው ጋር መገናኘት አልተቻለም ወይም ግንኙነቱ ተቋርጧል። ሰርቨሩ መሥራቱን እና ፋየርዎሉ መፍቀዱን ያረጋግጡ።',
  [DeliveryAttemptResult.UNREADABLE]: 'የመቀበያው መልስ ሊነበብ የሚችል HTTP አይደለም።',
  [DeliveryAttemptResult.TLS_FAILED]: 'የTLS ግንኙነቱ አልተሳካም። የሰርቲፊኬቱን ስም፣ የሚያበቃበትን ጊዜ እና ሰጪውን ያረጋግጡ።',
  [DeliveryAttemptResult.NAME_NOT_RESOLVED]: 'የሰርቨሩ ስም ይፋዊ አድራሻ የለውም። የDNS መዝገቦቹን (A፣ AAAA) ያረጋግጡ።',
  [DeliveryAttemptResult.ADDRESS_NOT_ALLOWED]: 'አድራሻው ይፋዊ ስላልሆነ ምንም አልተላከም።',
};

/**
 * Why an attempt failed, in the language of the page. `english` is the detail of `webhooks`, which names the cause more exactly than
 * the result does. A result of a later version has its English text in every language.
 */
export const failureDetail = (
  result: DeliveryAttemptResult,
  english: string,
  language: Language,
): { readonly text: string; readonly language: Language } =>
  language === 'am' && english !== '' && Object.hasOwn(inAmharic, result) && inAmharic[result] !== ''
    ? { text: inAmharic[result], language: 'am' }
    : { text: english, language: 'en' };
