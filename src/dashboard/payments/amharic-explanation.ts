import { OrderFact, OrderFactHolder, OrderNextStep } from '../../gen/gatehouse/v1/order_explanation_pb.js';
import { OrderStatus } from '../../gen/gatehouse/v1/order_pb.js';
import type { OrderExplanation } from '../../gen/gatehouse/v1/order_explanation_pb.js';

/** An explanation with the values that a translation needs, in the language and time zone of the page. */
export interface ExplanationWriting {
  readonly explanation: OrderExplanation;
  /** The name of the wallet; empty without one. */
  readonly wallet: string;
  /** Why the latest payment did not pay the order; empty otherwise. */
  readonly reason: string;
  /** When the next step happens; empty when no time is known. */
  readonly at: string;
}

type Sentence = (writing: ExplanationWriting) => string;

const reasonInBrackets = ({ reason }: ExplanationWriting): string => (reason === '' ? '' : ` (${reason})`);
const whilePending = ({ explanation: { orderStatus } }: ExplanationWriting): string =>
  orderStatus === OrderStatus.PENDING ? ' ከዚያ በፊት ትዕዛዙ ሌላ ክፍያ አይቀበልም።' : '';
const timeWords = (writing: ExplanationWriting): string => (writing.at === '' ? 'አሁን' : `በ${writing.at}`);

const ends: Readonly<Record<OrderStatus, Sentence>> = {
  [OrderStatus.UNSPECIFIED]: () => 'ትዕዛዙ ምንም አይጠብቅም።',
  [OrderStatus.PENDING]: () => 'ትዕዛዙ ምንም አይጠብቅም።',
  [OrderStatus.COMPLETED]: () => 'ትዕዛዙ ተከፍሏል፤ ምንም አይጠብቅም።',
  [OrderStatus.FAILED]: (writing) =>
    `ትዕዛዙ አልተሳካም${reasonInBrackets(writing)}፤ ምንም አይጠብቅም። አዲስ ክፍያ አዲስ ትዕዛዝ ይፈልጋል።`,
  [OrderStatus.EXPIRED]: () => 'የትዕዛዙ ጊዜ ሳይከፈል አልፏል፤ ምንም አይጠብቅም። አዲስ ክፍያ አዲስ ትዕዛዝ ይፈልጋል።',
};

const facts: Readonly<Record<OrderFact, Sentence>> = {
  [OrderFact.UNSPECIFIED]: () => 'ትዕዛዙ የሚጠብቀው አይታወቅም።',
  [OrderFact.NOTHING]: (writing) => ends[writing.explanation.orderStatus](writing),
  [OrderFact.CUSTOMER_PAYMENT]: () => 'ደንበኛው በክፍያ ገጹ እንዲከፍል ይጠበቃል።',
  [OrderFact.ANOTHER_PAYMENT]: (writing) =>
    `የመጨረሻው ክፍያ ገንዘብ አልወሰደም${reasonInBrackets(writing)}። ደንበኛው እንደገና እንዲከፍል ይጠበቃል።`,
  [OrderFact.MERCHANT_SUSPENDED]: () => 'ነጋዴው ስለታገደ ትዕዛዙ ክፍያ አይቀበልም።',
  [OrderFact.NO_WALLET_OFFERED]: () => 'ነጋዴው ይህን መጠን የሚቀበል ዋሌት ስላላቀረበ ትዕዛዙ ክፍያ አይቀበልም።',
  [OrderFact.EXPIRY]: () => 'የመክፈያው ጊዜ ሳይከፈል አልፏል።',
  [OrderFact.REQUEST_SENT]: ({ wallet }) => `Gatehouse ጥያቄውን ወደ ${wallet} እንዲልክ ይጠበቃል።`,
  [OrderFact.WALLETS_PROCESS]: ({ wallet }) => `ከ${wallet} ጋር የሚሠራ የGatehouse ፕሮሰስ የለም።`,
  [OrderFact.WALLET_RECOVERY]: ({ wallet }) => `${wallet} አይሠራም። እንደገና ሲሠራ Gatehouse ይቀጥላል።`,
  [OrderFact.WALLET_ANSWER]: ({ wallet }) => `${wallet} ለክፍያ ጥያቄው መልስ እንዲሰጥ ይጠበቃል።`,
  [OrderFact.PAYER_CONFIRMATION]: ({ wallet }) => `ከፋዩ ክፍያውን በ${wallet} እንዲያረጋግጥ ይጠበቃል።`,
  [OrderFact.WALLET_DECISION]: ({ wallet }) => `ከፋዩ የሚያረጋግጥበት ጊዜ አልፏል። ${wallet} ክፍያውን እንዲወስን ይጠበቃል።`,
  [OrderFact.WALLET_OUTCOME]: ({ wallet }) =>
    `የ${wallet} መልስ ጠፍቷል ወይም ግልጽ አይደለም። ከከፋዩ ገንዘብ መወሰዱን የሚያውቀው ${wallet} ብቻ ነው።`,
  [OrderFact.WALLET_REACHED]: ({ wallet }) => `የክፍያ ጥያቄው ${wallet} አልደረሰም፤ ስለዚህ ከከፋዩ ገንዘብ አልተወሰደም።`,
  [OrderFact.MERCHANT_CREDENTIALS]: ({ wallet }) => `${wallet} የነጋዴውን ሒሳብ የመግቢያ መረጃ አይቀበልም።`,
  [OrderFact.WALLET_ACCOUNT_KEY]: ({ wallet }) => `የነጋዴውን የ${wallet} ሒሳብ መክፈት ስላልተቻለ ትዕዛዙ ይጠብቃል።`,
  [OrderFact.SETTLEMENT_CONFIRMATION]: () => 'አንድ ኦፕሬተር ውጤቱን አቅርቧል። ሁለተኛ ኦፕሬተር እንዲያረጋግጥ ይጠበቃል።',
  [OrderFact.MONEY_RETURNED]: (writing) =>
    `${writing.wallet} ለትዕዛዙ ያልሆነውን ገንዘብ እንዲመልስ ይጠበቃል።${whilePending(writing)}`,
  [OrderFact.RETURN_DECISION]: (writing) =>
    `${writing.wallet} ለትዕዛዙ ያልሆነውን ገንዘብ ለመመለስ አልፈቀደም።${whilePending(writing)}`,
  [OrderFact.REFUND_APPROVAL]: () => 'ሁለተኛ ሰው ገንዘቡ እንዲመለስ እንዲያጸድቅ ይጠበቃል።',
  [OrderFact.REFUND_DECISION]: ({ wallet }) => `${wallet} የገንዘቡን መመለስ እንዲወስን ይጠበቃል።`,
  [OrderFact.WEBHOOK_SENT]: () => 'ትዕዛዙ አብቅቷል። Gatehouse ዌብሁኩን እንዲልክ ይጠበቃል።',
  [OrderFact.WEBHOOK_ACCEPTED]: () => 'ትዕዛዙ አብቅቷል። የነጋዴው መቀበያ ዌብሁኩን እንዲቀበል ይጠበቃል።',
  [OrderFact.WEBHOOK_SECRET]: () => 'ትዕዛዙ አብቅቷል። ዌብሁኩ የፊርማ ሚስጥር ይጠብቃል፤ ያለ ሚስጥሩ መቀበያው ሊያረጋግጠው አይችልም።',
  [OrderFact.WEBHOOK_SECRET_KEY]: () => 'ትዕዛዙ አብቅቷል። የፊርማ ሚስጥሩን መክፈት ስላልተቻለ ዌብሁኩ ይጠብቃል።',
  [OrderFact.WEBHOOK_ENDPOINT_RESUMED]: () => 'ትዕዛዙ አብቅቷል። መቀበያው ስለቆመ ዌብሁኩ ይጠብቃል።',
  [OrderFact.WEBHOOKS_PROCESS]: () => 'ትዕዛዙ አብቅቷል። የዌብሁኩ ጊዜ ደርሷል፤ ግን የሚልከው የGatehouse ፕሮሰስ የለም።',
  [OrderFact.WEBHOOK_REDELIVERY]: () => 'ትዕዛዙ አብቅቷል። መቀበያው ስላልተቀበለው ዌብሁኩ ተትቷል።',
  [OrderFact.EVENT_READ]: () => 'ትዕዛዙ አብቅቷል። Gatehouse ዌብሁኮቹን እንዲያዘጋጅ ይጠበቃል።',
  [OrderFact.RECOVERY]: () =>
    'Gatehouse ከመጠባበቂያ ቅጂ ተመልሷል፤ ትዕዛዙ በጠፋው ጊዜ ተከፍሎ ሊሆን ይችላል። ደንበኛው እንደገና መክፈል የለበትም።',
  [OrderFact.PAYER_PAYMENT]: ({ wallet }) => `ከፋዩ ከስልኩ ሜኑ የጀመረውን ክፍያ ${wallet} እንዲያረጋግጥ ይጠበቃል።`,
  [OrderFact.WEBHOOKS_UNKNOWN]: () => 'ትዕዛዙ አብቅቷል። የGatehouse የዌብሁክ ፕሮሰስ ስለማይመልስ ዌብሁኮቹ መጠበቃቸው አይታወቅም።',
};

const nextSteps: Readonly<Record<OrderNextStep, Sentence>> = {
  [OrderNextStep.UNSPECIFIED]: () => '',
  [OrderNextStep.NONE]: () => '',
  [OrderNextStep.ORDER_EXPIRES]: (writing) =>
    writing.at === '' ? 'ትዕዛዙ በጥቂት ሰከንዶች ውስጥ ያበቃል።' : `ካልተከፈለ ትዕዛዙ በ${writing.at} ያበቃል።`,
  [OrderNextStep.REQUEST_SENT]: (writing) => `Gatehouse ጥያቄውን ${timeWords(writing)} ይልካል።`,
  [OrderNextStep.WALLET_QUERIED]: (writing) => `Gatehouse ${writing.wallet}ን ${timeWords(writing)} ይጠይቃል።`,
  [OrderNextStep.WALLET_CHECKED]: ({ wallet }) => `Gatehouse ${wallet} መሥራቱን በየጥቂት ሰከንዱ ያረጋግጣል።`,
  [OrderNextStep.PROCESS_STARTED]: () => 'ኦፕሬተር ማስጀመር አለበት።',
  [OrderNextStep.CREDENTIALS_CORRECTED]: () => 'ነጋዴው በ“ዋሌቶች” ገጽ ማስተካከል አለበት።',
  [OrderNextStep.SETTLEMENT_CONFIRMED]: (writing) => `የቀረበው ውጤት ካልተረጋገጠ በ${writing.at} ጊዜው ያልፋል።`,
  [OrderNextStep.RETURN_DECIDED]: () => 'ኦፕሬተር እንደገና መሞከር ወይም በእጅ መወሰን አለበት።',
  [OrderNextStep.REFUND_APPROVED]: () => 'ከጠየቀው ሌላ ሰው ማጽደቅ ወይም አለመቀበል አለበት።',
  [OrderNextStep.WEBHOOK_SENT]: (writing) => `Gatehouse ዌብሁኩን ${timeWords(writing)} ይልካል።`,
  [OrderNextStep.SECRET_CREATED]: () => 'ነጋዴው በ“ዌብሁኮች” ገጽ የፊርማ ሚስጥር ማዘጋጀት አለበት።',
  [OrderNextStep.KEY_RESTORED]: () => 'ኦፕሬተር ቁልፉን መመለስ አለበት።',
  [OrderNextStep.ENDPOINT_RESUMED]: () => 'መቀበያው ሲሠራ ነጋዴው ማስቀጠል አለበት።',
  [OrderNextStep.WEBHOOK_REDELIVERED]: () => 'መቀበያው ሲሠራ ነጋዴው እንደገና መላክ አለበት።',
  [OrderNextStep.WALLET_OFFERED]: (writing) => `ነጋዴው ዋሌት ካላበራ ትዕዛዙ በ${writing.at} ያበቃል።`,
  [OrderNextStep.WEBHOOKS_CREATED]: () => 'ጥቂት ሰከንዶች ይወስዳል።',
  [OrderNextStep.RECOVERY_COMPLETED]: () => 'ትዕዛዙ ክፍያውን ያገኛል፤ ወይም ኦፕሬተር መልሶ ማቋቋሙን ሲጨርስ ይቀጥላል።',
  [OrderNextStep.ASKED_AGAIN]: () => 'ቆይተው እንደገና ይጠይቁ።',
};

const holders: Readonly<Record<OrderFactHolder, Sentence>> = {
  [OrderFactHolder.UNSPECIFIED]: () => 'አይታወቅም',
  [OrderFactHolder.NOBODY]: () => 'ማንም',
  [OrderFactHolder.PAYER]: () => 'ደንበኛው',
  [OrderFactHolder.WALLET]: ({ wallet }) => wallet,
  [OrderFactHolder.CORE]: () => 'Gatehouse (core)',
  [OrderFactHolder.WALLETS_PROCESS]: () => 'Gatehouse (wallets)',
  [OrderFactHolder.WEBHOOKS_PROCESS]: () => 'Gatehouse (webhooks)',
  [OrderFactHolder.MERCHANT]: () => 'ነጋዴው',
  [OrderFactHolder.OPERATOR]: () => 'የGatehouse ኦፕሬተር',
};

/** The explanation of an order, in Amharic. A fact or step of a later version has no sentence here. */
export function amharicExplanation(writing: ExplanationWriting): string {
  const { waitingFor, next } = writing.explanation;
  const sentences = [
    Object.hasOwn(facts, waitingFor) ? facts[waitingFor] : facts[OrderFact.UNSPECIFIED],
    Object.hasOwn(nextSteps, next) ? nextSteps[next] : nextSteps[OrderNextStep.NONE],
  ];
  return sentences
    .map((sentence) => sentence(writing))
    .filter((text) => text !== '')
    .join(' ');
}

/** Who holds the fact, in Amharic. */
export function amharicHolder(writing: ExplanationWriting): string {
  const { heldBy } = writing.explanation;
  const holder = Object.hasOwn(holders, heldBy) ? holders[heldBy] : holders[OrderFactHolder.UNSPECIFIED];
  return holder(writing);
}
