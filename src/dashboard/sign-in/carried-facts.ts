import type { FastifyRequest } from 'fastify';
import { isLanguage } from '../../platform/language/language.ts';
import type { Language } from '../../platform/language/language.ts';
import { keys as keysInAmharic } from '../language/amharic/keys.ts';
import { operatorUsers as operatorUsersInAmharic } from '../language/amharic/operator-users.ts';
import { operator as operatorInAmharic } from '../language/amharic/operator.ts';
import { paymentLinks as linksInAmharic } from '../language/amharic/payment-links.ts';
import { refunds as refundsInAmharic } from '../language/amharic/refunds.ts';
import { settlements as settlementsInAmharic } from '../language/amharic/settlements.ts';
import { wallets as walletsInAmharic } from '../language/amharic/wallets.ts';
import { webhooks as webhooksInAmharic } from '../language/amharic/webhooks.ts';
import { keys } from '../language/english/keys.ts';
import { operatorUsers } from '../language/english/operator-users.ts';
import { operator } from '../language/english/operator.ts';
import { paymentLinks } from '../language/english/payment-links.ts';
import { refunds } from '../language/english/refunds.ts';
import { settlements } from '../language/english/settlements.ts';
import { wallets } from '../language/english/wallets.ts';
import { webhooks } from '../language/english/webhooks.ts';
import { optionText } from '../payments/order-words.ts';
import { shellWords } from '../send-page.ts';
import type { CarriedForm } from '../session/session-data.ts';
import { signInWords } from './show-sign-in.ts';

const formWords = {
  en: { keys, operator, operatorUsers, links: paymentLinks, refunds, settlements, wallets, webhooks },
  am: {
    keys: keysInAmharic,
    operator: operatorInAmharic,
    operatorUsers: operatorUsersInAmharic,
    links: linksInAmharic,
    refunds: refundsInAmharic,
    settlements: settlementsInAmharic,
    wallets: walletsInAmharic,
    webhooks: webhooksInAmharic,
  },
};

type Texts = Readonly<Record<string, string>>;

/** Fields that say which state a page showed, or which of its buttons was used. */
export const unseenFields: ReadonlySet<string> = new Set(['seen', 'form_id', 'page', 'edit']);

/** The label and the text of each field of a kept form, in the words that the form showed. */
export function carriedFacts(
  request: FastifyRequest,
  { fields }: Pick<CarriedForm, 'fields'>,
): readonly (readonly [label: string, text: string])[] {
  const labels = fieldLabels(request.language);
  const textOf = textsOf(request);
  return fields
    .filter(([name, value]) => value !== '' && !unseenFields.has(name))
    .map(([name, value]) => [
      Object.hasOwn(labels, name)
        ? String(labels[name])
        : (limitLabel(name, request.language) ?? name.replaceAll('_', ' ')),
      textOf(name, value),
    ]);
}

/** The labels of the fields of all forms, by the name of the field. */
export function fieldLabels(language: Language): Texts {
  const words = formWords[language];
  return {
    ...signInWords[language].carryOn.fields,
    after: words.webhooks.secrets.rotate.after,
    endpoint: words.webhooks.endpoints.columns.endpoint,
    help: words.operatorUsers.asked.columns.what,
    kind: words.settlements.columns.what,
    merchant_id: words.operator.merchant,
    on: words.wallets.states.on,
    outcome: words.settlements.propose.outcome,
    overlap: words.keys.rotate.overlap,
    provider_reference: words.settlements.propose.reference,
    refunds: words.keys.refunds.may,
    subject_id: words.operator.merchants.facts.id,
  };
}

/** The label of a limit of refunds, such as `owner_limit_ETB`; undefined for any other field. */
function limitLabel(name: string, language: Language): string | undefined {
  const [, role, currency = ''] = /^(?:(developer|owner)_)?limit_([A-Z]{3})$/.exec(name) ?? [];
  if (currency === '') return undefined;
  const { groups, limit } = formWords[language].refunds.approval;
  const group =
    role === 'owner' ? groups.owners : role === 'developer' ? groups.developers : groups.everybody;
  return `${group.title}: ${limit(currency)}`;
}

/** The text of an option. A value without one, such as an amount, is its own text. */
function textsOf(request: FastifyRequest): (name: string, value: string) => string {
  const { language, wallets } = request;
  const words = formWords[language];
  const { environments, roles } = shellWords[language];
  const { yes, no } = words.operator.pipeline;
  const options: Readonly<Record<string, Texts>> = {
    after: words.webhooks.secrets.rotate.choices,
    environment: environments,
    help: words.operatorUsers.asked.kinds,
    kind: words.settlements.subjects,
    lifetime: words.links.form.lifetimes,
    on: { yes, no },
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
