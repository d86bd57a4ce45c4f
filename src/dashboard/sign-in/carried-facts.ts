import type { FastifyRequest } from 'fastify';
import { isLanguage } from '../../platform/language/language.ts';
import { keys as keysInAmharic } from '../language/amharic/keys.ts';
import { operator as operatorInAmharic } from '../language/amharic/operator.ts';
import { paymentLinks as linksInAmharic } from '../language/amharic/payment-links.ts';
import { settlements as settlementsInAmharic } from '../language/amharic/settlements.ts';
import { webhooks as webhooksInAmharic } from '../language/amharic/webhooks.ts';
import { keys } from '../language/english/keys.ts';
import { operator } from '../language/english/operator.ts';
import { paymentLinks } from '../language/english/payment-links.ts';
import { settlements } from '../language/english/settlements.ts';
import { webhooks } from '../language/english/webhooks.ts';
import { wordsFor } from '../language/words.ts';
import { optionText } from '../payments/order-words.ts';
import { shellWords } from '../send-page.ts';
import type { CarriedForm } from '../session/session-data.ts';
import { signInWords } from './show-sign-in.ts';

const formWords = {
  en: { keys, operator, links: paymentLinks, settlements, webhooks },
  am: {
    keys: keysInAmharic,
    operator: operatorInAmharic,
    links: linksInAmharic,
    settlements: settlementsInAmharic,
    webhooks: webhooksInAmharic,
  },
};

type Texts = Readonly<Record<string, string>>;

/** Hidden fields that say which state a page showed. */
const unseen = new Set(['seen', 'page']);

/** The label and the text of each field of a kept form, in the words that the form showed. */
export function carriedFacts(
  request: FastifyRequest,
  { fields }: Pick<CarriedForm, 'fields'>,
): readonly (readonly [label: string, text: string])[] {
  const labels: Texts = { ...wordsFor(request, signInWords).carryOn.fields, ...labelsOf(request) };
  const textOf = textsOf(request);
  return fields
    .filter(([name, value]) => value !== '' && !unseen.has(name))
    .map(([name, value]) => [
      Object.hasOwn(labels, name) ? String(labels[name]) : name.replaceAll('_', ' '),
      textOf(name, value),
    ]);
}

function labelsOf(request: FastifyRequest): Texts {
  const words = wordsFor(request, formWords);
  return {
    after: words.webhooks.secrets.rotate.after,
    kind: words.settlements.columns.what,
    outcome: words.settlements.propose.outcome,
    overlap: words.keys.rotate.overlap,
    provider_reference: words.settlements.propose.reference,
    refunds: words.keys.refunds.may,
  };
}

/** The text of an option. A value without one, such as an amount, is its own text. */
function textsOf(request: FastifyRequest): (name: string, value: string) => string {
  const { language, wallets } = request;
  const words = wordsFor(request, formWords);
  const { environments, roles } = shellWords[language];
  const { yes, no } = words.operator.pipeline;
  const options: Readonly<Record<string, Texts>> = {
    after: words.webhooks.secrets.rotate.choices,
    environment: environments,
    kind: words.settlements.subjects,
    lifetime: words.links.form.lifetimes,
    outcome: words.settlements.outcomes,
    overlap: words.keys.rotate.overlaps,
    production: { yes },
    refunds: { yes, no },
    role: roles,
    type: words.links.form.types,
  };
  return (name, value) => {
    const texts = Object.hasOwn(options, name) ? options[name] : undefined;
    if (texts !== undefined && Object.hasOwn(texts, value)) return String(texts[value]);
    if (name === 'language' && isLanguage(value)) return shellWords[value].languageName;
    if (name === 'wallet') return wallets.walletNames(value)[language];
    const isOption = ['sandbox', 'production'].includes(name) && wallets.option(value) !== undefined;
    return isOption ? optionText(value, { words: words.operator, language, wallets }) : value;
  };
}
