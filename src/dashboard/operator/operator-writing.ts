import type { WalletDirectory } from '../../contract/wallet-directory.ts';
import type { FastifyRequest } from 'fastify';
import { Environment } from '../../gen/gatehouse/v1/order_pb.js';
import type { Language } from '../../platform/language/language.ts';
import { numberFormat } from '../../platform/language/formats.ts';
import type { EnvironmentName } from '../access/page-context.ts';
import { isEnvironmentName } from '../access/page-context.ts';
import { fieldOf } from '../forms/read-form.ts';
import { operator as amharic } from '../language/amharic/operator.ts';
import { operator as english } from '../language/english/operator.ts';
import { wordsFor } from '../language/words.ts';
import { PageProblem } from '../page-problem.ts';
import { textIn } from '../page-query.ts';

/** The language and time zone of the operators' pages. */
export interface Writing {
  readonly words: typeof english;
  readonly language: Language;
  readonly timeZone: string;
  readonly wallets: WalletDirectory;
}

export const writingFor = (request: FastifyRequest, timeZone: string): Writing => ({
  words: wordsFor(request, { en: english, am: amharic }),
  language: request.language,
  timeZone,
  wallets: request.wallets,
});

/** The environment of a page; production when its query has none. */
export function environmentOf({ query }: Pick<FastifyRequest, 'query'>): {
  name: EnvironmentName;
  number: Environment;
} {
  const given = textIn(query, 'environment');
  const name = isEnvironmentName(given) ? given : 'production';
  return { name, number: name === 'sandbox' ? Environment.SANDBOX : Environment.PRODUCTION };
}

/** The environment of a submitted form, whose hidden field always has one. @throws PageProblem */
export function environmentIn(body: unknown): ReturnType<typeof environmentOf> {
  const environment = fieldOf(body, 'environment');
  if (!isEnvironmentName(environment)) throw new PageProblem('badRequest', 'UNKNOWN_ENVIRONMENT');
  return environmentOf({ query: { environment } });
}

/** Whether the query has an environment. */
export const isEnvironmentGiven = ({ query }: FastifyRequest): boolean =>
  isEnvironmentName(textIn(query, 'environment'));

/** The links to the same page in both environments. */
export const environmentTabs = (path: string, current: EnvironmentName, { words }: Writing) => ({
  label: words.environments.label,
  items: (['production', 'sandbox'] as const).map((name) => ({
    href: `${path}?environment=${name}`,
    text: words.environments[name],
    current: name === current,
  })),
});

export const walletName = (wallet: string | undefined, { wallets, language }: Writing): string =>
  wallets.walletNames(wallet ?? '')[language];

export const environmentName = (environment: Environment | undefined): EnvironmentName =>
  environment === Environment.PRODUCTION ? 'production' : 'sandbox';

export const numberText = (count: number | bigint, { language }: Writing): string =>
  numberFormat(language).format(count);
