import { joinExplanations } from '../../contract/explain-order.ts';
import { holderText, orderExplanationText } from '../../contract/order-explanation-text.ts';
import { OrderFact, OrderNextStep } from '../../gen/gatehouse/v1/order_explanation_pb.js';
import type { OrderExplanation } from '../../gen/gatehouse/v1/order_explanation_pb.js';
import { explanation as amharic } from '../language/amharic/explanation.ts';
import { explanation as english } from '../language/english/explanation.ts';
import type { Language } from '../../platform/language/language.ts';
import type { MomentFormat } from '../../platform/language/moment-text.ts';
import { amharicExplanation, amharicHolder } from './amharic-explanation.ts';
import type { ExplanationWriting } from './amharic-explanation.ts';
import { momentOf } from '../moment-text.ts';
import { secondsIn, millisecondsOf } from './order-story.ts';
import type { StoryWriting } from './order-story.ts';

const dictionary = { en: english, am: amharic };

/** How a language puts an explanation into words. `times` writes a time to the second. */
interface ExplanationWriter {
  readonly text: (writing: ExplanationWriting, times: MomentFormat) => string;
  readonly heldBy: (writing: ExplanationWriting) => string;
}

const writers: Readonly<Record<Language, ExplanationWriter>> = {
  en: {
    text: ({ explanation, reason }, times) =>
      englishExplanation({ ...explanation, reason: withinSentence(reason) }, times),
    heldBy: ({ explanation }) => holderText(explanation),
  },
  am: { text: amharicExplanation, heldBy: amharicHolder },
};

/**
 * The block of the order's page that tells what the order waits for. Undefined when core is of a version that does not explain
 * orders. `fromWebhooks` is undefined when no `webhooks` process answered. `detailOf` gives the wallet's latest message about a payment,
 * refund or stray payment; empty without one. `pathOf` gives the full path of a page of the merchant.
 */
export function orderExplanation(
  fromCore: OrderExplanation | undefined,
  fromWebhooks: OrderExplanation | undefined,
  { language, timeZone, wallets, reasons, story }: StoryWriting,
  detailOf: (subjectId: string) => string,
  pathOf: (page: string) => string,
) {
  if (fromCore === undefined) return undefined;
  const explanation = joinExplanations(fromCore, fromWebhooks);
  const [words, writer] = [dictionary[language], writers[language]];
  const { wallet, reason, nextTime, sinceTime, waitingFor, subjectId } = explanation;
  const detail = detailOf(subjectId);
  const seconds = secondsIn(language, timeZone);
  // With seconds, because many steps are seconds apart.
  const moment = (time: OrderExplanation['nextTime']) => {
    const toTheMinute = momentOf(time, language, timeZone);
    return toTheMinute && { ...toTheMinute, text: seconds.format(millisecondsOf(time)) };
  };
  const next = moment(nextTime);
  const writing: ExplanationWriting = {
    explanation,
    wallet: wallet === '' ? '' : wallets.walletNames(wallet)[language],
    reason: reason === '' ? '' : (reasons[reason] ?? reason),
    at: next?.text ?? '',
  };
  const isOver = waitingFor === OrderFact.NOTHING;
  return {
    refund: subjectId.startsWith('rfd_')
      ? { href: pathOf(`refunds/${subjectId}`), text: story.refund }
      : undefined,
    delivery: subjectId.startsWith('whd_')
      ? { href: pathOf(`webhooks/deliveries/${subjectId}`), text: story.delivery }
      : undefined,
    title: words.title,
    text: writer.text(writing, seconds),
    texts: [
      ...(isOver
        ? []
        : [
            {
              name: 'held-by',
              label: words.heldBy,
              text: writer.heldBy(writing),
            },
          ]),
      ...(detail === ''
        ? []
        : [
            {
              name: 'because',
              lang: 'en',
              label: subjectId.startsWith('pat_') ? words.because : words.answer,
              text: detail,
            },
          ]),
    ],
    times: [
      { label: isOver ? words.ended : words.since, moment: moment(sinceTime) },
      { label: words.next, moment: next },
    ],
  };
}

const withinSentence = (label: string): string => label.charAt(0).toLowerCase() + label.slice(1);

/**
 * The words that Gatehouse shows everywhere, with times in the time zone of the page. The text of a process of a later version, whose facts
 * or steps are unknown here, is shown as it is.
 */
function englishExplanation(explanation: OrderExplanation, times: MomentFormat): string {
  const isKnown = explanation.waitingFor in OrderFact && explanation.next in OrderNextStep;
  return isKnown ? orderExplanationText(explanation, (time) => times.format(time)) : explanation.englishText;
}
