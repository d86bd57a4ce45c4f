import { join } from 'node:path';
import type { Assets } from './assets.ts';
import { messagesIn } from './language/dictionary.ts';
import { readTemplates } from '../platform/http/templates.ts';
import { languages } from '../platform/language/language.ts';
import type { Language } from '../platform/language/language.ts';
import type { PageView } from './page-views.ts';

/** The data of the frame around every page. */
export interface PageFrame {
  readonly language: Language;
  /** The prefix of every path as seen by browsers; may be ''. */
  readonly prefix: string;
  /** The page's path without its query, for the link to the other language. */
  readonly path: string;
  /** Whether the page answers a form. */
  readonly isAnswer: boolean;
}

/** Renders a page as HTML. The templates escape all values. */
export type RenderPage = (page: PageView, frame: PageFrame) => string;

/** Reads the templates now, and compiles each on first use. */
export function createRenderer({ style, script, icon }: Assets): RenderPage {
  const eta = readTemplates(join(import.meta.dirname, 'templates'));
  return (page, { language, prefix, path, isAnswer }) => {
    const other = languages.find((code) => code !== language) ?? language;
    return eta.render(`./${page.template}`, {
      page,
      isAnswer,
      assets: {
        style: prefix + style.path,
        script: prefix + script.path,
        icon: prefix + icon.path,
      },
      messages: messagesIn(language),
      language: {
        code: language,
        other: { code: other, name: messagesIn(other).languageName, href: `${path}?lang=${other}` },
      },
    });
  };
}
