import type { FastifyReply, FastifyRequest } from 'fastify';
import { ownPath } from '../platform/http/own-path.ts';
import { languages } from '../platform/language/language.ts';
import type { Language } from '../platform/language/language.ts';
import type { Assets } from './assets.ts';
import { pathIn } from './access/page-context.ts';
import { privateFields } from './forms/carry-form.ts';
import { shell as amharic } from './language/amharic/shell.ts';
import { shell as english } from './language/english/shell.ts';
import { navigationOf } from './navigation.ts';
import type { Area, HasPage } from './navigation.ts';
import type { Render } from './render.ts';
import { takeFlash } from './session/sign-in-state.ts';

export const shellWords = { en: english, am: amharic };

/** A page for a template. */
export interface Page {
  /** Below `templates`, without `.eta`. */
  readonly template: string;
  readonly title: string;
  /** Its entry in the menu. */
  readonly area?: Area | undefined;
  /** Without menus: a centred sheet, such as for signing in. */
  readonly isAlone?: boolean;
  /** The texts of the page's area, as `it.words`. */
  readonly words: object;
  /** The data of the page, as `it.view`. */
  readonly view: object;
  /** The path of the page when it answers a form; other pages are at the path of the request. */
  readonly self?: string | undefined;
  /** Whether a form has a mistake, or was refused. The title then says so. By default, the status decides. */
  readonly hasMistake?: boolean;
  /** Whether the page has a button for the other language within its form, which a link would lose. */
  readonly hasOwnLanguage?: boolean;
  /** Additional files of the page, by path. */
  readonly scripts?: readonly string[];
  readonly styles?: readonly string[];
}

/** Answers with a page. */
export type SendPage = (request: FastifyRequest, reply: FastifyReply, page: Page) => FastifyReply;

export interface SendPageParts {
  readonly render: Render;
  readonly assets: Assets;
  readonly hasPage: HasPage;
  /** The time zone of all times on the pages, in words. */
  readonly zone: () => string;
  readonly randomBytes: (size: number) => Buffer;
}

export function createSendPage({ render, assets, hasPage, zone, randomBytes }: SendPageParts): SendPage {
  return (request, reply, page) => {
    const { language, signedInUser, pageMerchant } = request;
    const words = shellWords[language];
    const other = languages.find((code) => code !== language) ?? language;
    const { hasMistake = reply.statusCode >= 400 } = page;
    const html = render(page.template, {
      page,
      title: hasMistake ? words.forms.wrongTitle(page.title) : page.title,
      view: page.view,
      answers: request.method === 'POST' ? page.self : undefined,
      words: page.words,
      privateFields: privateFields.source,
      shell: words,
      language: {
        code: language,
        other: {
          code: other,
          name: shellWords[other].languageName,
          href: inLanguage(request, page.self, other),
        },
      },
      assets: {
        style: assets.style.path,
        icon: assets.icon.path,
        script: assets.script.path,
        styles: page.styles ?? [],
        scripts: page.scripts ?? [],
      },
      formToken: reply.generateCsrf(),
      formId: randomBytes(16).toString('base64url'),
      signedInUser,
      pageMerchant,
      // A page of both environments, such as the team, has no home page of its own.
      home: pageMerchant?.environment === undefined ? '/' : pathIn(pageMerchant),
      navigation:
        signedInUser === null || page.isAlone === true
          ? undefined
          : navigationOf(signedInUser, pageMerchant ?? undefined, page.area, words, hasPage),
      flash: takeFlash(request),
      requestId: request.id,
      zone: signedInUser === null ? undefined : zone(),
      hasAccountPage: hasPage('/account'),
    });
    return reply
      .header('content-language', language)
      .header('vary', 'accept-language, cookie')
      .type('text/html; charset=utf-8')
      .send(html);
  };
}

/** The same page in another language. */
function inLanguage(request: FastifyRequest, self: string | undefined, language: Language): string {
  const isPage = request.method === 'GET' || request.method === 'HEAD';
  const { path, query } = ownPath(self ?? (isPage ? request.url : '/'));
  query.set('lang', language);
  return `${path}?${query.toString()}`;
}
