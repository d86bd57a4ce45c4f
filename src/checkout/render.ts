import { join } from 'node:path';
import { Eta } from 'eta';
import type { Assets } from './assets.ts';
import { messagesIn } from './language/dictionary.ts';
import { languages } from '../platform/language/language.ts';
import type { Language } from '../platform/language/language.ts';
import type { PageView } from './page-views.ts';

/** What every page has around it. */
export interface PageFrame {
  readonly language: Language;
  /** What stands before every path as browsers see it; '' when nothing does. */
  readonly prefix: string;
  /** The page's address without its query, so that the same page can be asked for in the other language. */
  readonly path: string;
}

/** Gives a page as HTML. Whatever is put into it is escaped by the templates. */
export type RenderPage = (page: PageView, frame: PageFrame) => string;

/** Reads the templates on first use, and keeps them. */
export function createRenderer({ style, script, icon }: Assets): RenderPage {
  const eta = new Eta({ views: join(import.meta.dirname, 'templates'), cache: true, autoEscape: true });
  return (page, { language, prefix, path }) => {
    const other = languages.find((code) => code !== language) ?? language;
    return eta.render(`./${page.template}`, {
      page,
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
