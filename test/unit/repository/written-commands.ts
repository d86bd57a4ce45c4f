import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import ts from 'typescript';
import { root } from './repository-files.ts';

/** A command line of `gatehouse` in some file, without the word `gatehouse`. */
export interface WrittenCommand {
  /** file:line */
  readonly where: string;
  readonly text: string;
  /** Whether it is in prose, where the name of a command is enough. */
  readonly isInProse: boolean;
}

interface Passage {
  readonly line: number;
  readonly text: string;
}

/** A command begins a line or follows a blank, and continues to the end of its line. */
const command = /(?:^|[\s("'])gatehouse\s+(\S.*)$/;
/** The words after which a sentence continues behind a command. */
const endOfCommand = /\s+#.*$|[;,.)](?:\s.*)?$|\s\|\s.*$/;
/** A sentence of the source may contain two. */
const nextCommand = /[;,] (?=(?:\S+ )*gatehouse )/;

const commandsOf = (file: string, passages: readonly Passage[]): readonly WrittenCommand[] =>
  passages
    .flatMap(({ line, text }) => text.split('\n').map((part, index) => ({ line: line + index, text: part })))
    .flatMap(({ line, text }) => text.split(nextCommand).map((part) => ({ line, text: part })))
    .flatMap(({ line, text }) => {
      const [, written] = command.exec(text) ?? [];
      if (written === undefined) return [];
      return [{ where: `${file}:${line}`, text: written.replace(endOfCommand, ''), isInProse: false }];
    });

/** Every command in a Markdown page: those of its code blocks, and those of its prose. */
export function commandsOfPage(file: string, page: string): readonly WrittenCommand[] {
  const found: WrittenCommand[] = [];
  let isBlock = false;
  page.split('\n').forEach((text, index) => {
    const line = index + 1;
    if (/^\s*```/.test(text)) isBlock = !isBlock;
    else if (isBlock)
      found.push(...commandsOf(file, [{ line, text: text.replace(/\$\((.*?)( \|.*)?\)/, ' $1') }]));
    else
      for (const [, code = ''] of text.matchAll(/`([^`]+)`/g))
        found.push(...commandsOf(file, [{ line, text: code }]).map((each) => ({ ...each, isInProse: true })));
  });
  return found;
}

/** The text of every string in a source, with the computed parts of a template as `${…}`. */
function stringsOf(file: string, source: string): readonly Passage[] {
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true);
  const found: Passage[] = [];
  const visit = (node: ts.Node): void => {
    const line = tree.getLineAndCharacterOfPosition(node.getStart()).line + 1;
    if (ts.isStringLiteralLike(node)) found.push({ line, text: node.text });
    if (ts.isTemplateExpression(node))
      found.push({
        line,
        text: node.templateSpans.reduce(
          (text, { expression, literal }) =>
            `${text}\${${expression.getText().replace(/\s+/g, '')}}${literal.text}`,
          node.head.text,
        ),
      });
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return found;
}

/** The text of a page's template, with line breaks where tags end a line. */
const shownBy = (template: string): string =>
  template
    .replace(/<%[\s\S]*?%>/g, (tag) => tag.replace(/[^\n]+/, 'value'))
    .replace(/<[^>]*>/g, (tag) => tag.replace(/[^\n]+/g, '\n'.repeat(0)))
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>');

export async function commandsIn(file: string): Promise<readonly WrittenCommand[]> {
  const text = await readFile(join(root, file), 'utf8');
  if (!/gatehouse\s/.test(text)) return [];
  if (extname(file) === '.md') return commandsOfPage(file, text);
  if (/\.(ts|mjs)$/.test(file)) return commandsOf(file, stringsOf(file, text));
  if (extname(file) === '.eta') return commandsOf(file, [{ line: 1, text: shownBy(text) }]);
  return commandsOf(file, [{ line: 1, text: text.replace(/^\s*# ?/gm, '') }]);
}
