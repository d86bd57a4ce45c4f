import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { getOption, hasOption } from '@bufbuild/protobuf';
import type { DescFile, DescMessage } from '@bufbuild/protobuf';
import ts from 'typescript';
import { display_text } from '../../../src/gen/gatehouse/v1/display_text_pb.js';
import { root } from './repository-files.ts';

/** A field of the contract that holds text for people. */
export interface DisplayField {
  /** As the contract spells it, and as generated code does. */
  readonly name: string;
  readonly localName: string;
}

/** The fields of the contract that are marked `display_text`. */
export async function displayFields(): Promise<readonly DisplayField[]> {
  const folder = join(root, 'src/gen/gatehouse/v1');
  const files = (await readdir(folder)).filter((file) => file.endsWith('_pb.js'));
  const modules = await Promise.all(
    files.map(async (file) => (await import(join(folder, file))) as Record<string, unknown>),
  );
  const messages = modules.flatMap((module) =>
    Object.entries(module)
      .filter(([name]) => name.startsWith('file_'))
      .flatMap(([, file]) => (file as DescFile).messages.flatMap(withNested)),
  );
  return messages.flatMap(({ fields }) =>
    fields
      .filter((field) => hasOption(field, display_text) && getOption(field, display_text))
      .map(({ name, localName }) => ({ name, localName })),
  );
}

const withNested = (message: DescMessage): DescMessage[] => [
  message,
  ...message.nestedMessages.flatMap(withNested),
];

/** Methods of a text that split it, or search in it. Shortening a text to show it is allowed. */
const parsers = new Set(
  [
    'includes',
    'startsWith',
    'endsWith',
    'match',
    'matchAll',
    'replace',
    'replaceAll',
    'split',
    'search',
  ].concat(['indexOf', 'lastIndexOf', 'substring', 'charAt', 'codePointAt']),
);
/** Methods that look up a text: of a regular expression, a set or a map. */
const finders = new Set(['test', 'exec', 'has', 'get', 'hasOwn']);
/** Methods of a list of texts that pass each of them to a function. */
const walkers = new Set(['map', 'flatMap', 'filter', 'find', 'findIndex', 'some', 'every', 'forEach']);

/**
 * Where a source file parses text for people, as line numbers with the code. It follows such text by name: through
 * properties, destructuring, variables, loops, callbacks, and parameters of functions in the same file.
 */
export function parsedTexts(code: string, fields: readonly DisplayField[]): readonly string[] {
  const source = ts.createSourceFile('file.ts', code, ts.ScriptTarget.Latest, true);
  const properties = new Set(fields.map(({ localName }) => localName));
  const carriers = namesThatCarry(source, properties);
  const found: string[] = [];
  const isText = (node: ts.Node | undefined): boolean =>
    node !== undefined && carriesText(node, properties, carriers);
  const visit = (node: ts.Node): void => {
    if (parses(node, isText)) {
      const { line } = source.getLineAndCharacterOfPosition(node.getStart());
      found.push(`${line + 1}: ${node.getText().replace(/\s+/g, ' ').slice(0, 120)}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  const parsedBySql = sqlThatParses(fields);
  code.split('\n').forEach((line, index) => {
    if (parsedBySql.test(line)) found.push(`${index + 1}: ${line.trim().slice(0, 120)}`);
  });
  return found;
}

/** SQL that searches in a column of that name. */
const sqlThatParses = (fields: readonly DisplayField[]): RegExp => {
  const names = [...new Set(fields.map(({ name }) => name))].join('|');
  return new RegExp(
    `\\b(?:starts_with|strpos|split_part|substring|regexp_\\w+)\\((?:\\w+\\.)?(?:${names})\\b|` +
      `\\b(?:${names})\\s+(?:not\\s+)?(?:i?like|similar to|~)\\s`,
  );
};

function carriesText(node: ts.Node, properties: ReadonlySet<string>, carriers: ReadonlySet<string>): boolean {
  if (ts.isParenthesizedExpression(node) || ts.isNonNullExpression(node) || ts.isAsExpression(node))
    return carriesText(node.expression, properties, carriers);
  if (ts.isPropertyAccessExpression(node)) return properties.has(node.name.text);
  if (ts.isIdentifier(node)) return carriers.has(node.text);
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.QuestionQuestionToken)
    return carriesText(node.left, properties, carriers);
  if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression))
    return (
      ['trim', 'toLowerCase', 'toUpperCase', 'join', 'at', 'slice'].includes(node.expression.name.text) &&
      carriesText(node.expression.expression, properties, carriers)
    );
  if (ts.isElementAccessExpression(node)) return carriesText(node.expression, properties, carriers);
  return false;
}

/** Elsewhere in the code these names hold a code of a closed union, which may be compared. */
const namesOfCodes = new Set(['error', 'problem']);

const isCode = (node: ts.Node): boolean =>
  namesOfCodes.has(ts.isPropertyAccessExpression(node) ? node.name.text : node.getText());

/** Replacing a character that is no letter, digit or blank prepares a text to be shown or stored. */
const isEscaping = (name: string, [pattern]: readonly ts.Expression[]): boolean =>
  name.startsWith('replace') &&
  pattern !== undefined &&
  ts.isStringLiteral(pattern) &&
  /^[^\p{L}\p{N}\s]$/u.test(pattern.text);

function parses(node: ts.Node, isAnyText: (node: ts.Node | undefined) => boolean): boolean {
  const isText = (part: ts.Node | undefined): boolean =>
    part !== undefined && isAnyText(part) && !isCode(part);
  if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
    const { expression: target, name } = node.expression;
    if (parsers.has(name.text) && isAnyText(target)) return !isEscaping(name.text, node.arguments);
    return finders.has(name.text) && node.arguments.some(isText);
  }
  if (ts.isElementAccessExpression(node)) return isText(node.argumentExpression);
  if (ts.isSwitchStatement(node)) return isText(node.expression);
  if (!ts.isBinaryExpression(node)) return false;
  const isComparison = [
    ts.SyntaxKind.EqualsEqualsEqualsToken,
    ts.SyntaxKind.ExclamationEqualsEqualsToken,
  ].includes(node.operatorToken.kind);
  const isWords = (side: ts.Expression): boolean => ts.isStringLiteralLike(side) && side.text !== '';
  return (
    isComparison && ((isText(node.left) && isWords(node.right)) || (isText(node.right) && isWords(node.left)))
  );
}

/** The names in a file that stand for text for people. The set grows until nothing is added. */
function namesThatCarry(source: ts.SourceFile, properties: ReadonlySet<string>): ReadonlySet<string> {
  const carriers = new Set<string>();
  const parametersOf = new Map<string, readonly ts.ParameterDeclaration[]>();
  const isText = (node: ts.Node | undefined): boolean =>
    node !== undefined && carriesText(node, properties, carriers);
  const carry = (name: ts.Node | undefined): void => {
    if (name !== undefined && ts.isIdentifier(name)) carriers.add(name.text);
  };
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionDeclaration(node) && node.name) parametersOf.set(node.name.text, node.parameters);
    if (ts.isVariableDeclaration(node)) {
      if (node.initializer && isFunction(node.initializer) && ts.isIdentifier(node.name))
        parametersOf.set(node.name.text, node.initializer.parameters);
      if (isText(node.initializer)) carry(node.name);
    }
    // `{ detail }`, `{ detail: text }`
    if (ts.isBindingElement(node) && ts.isObjectBindingPattern(node.parent)) {
      const property = node.propertyName ?? node.name;
      if (ts.isIdentifier(property) && properties.has(property.text)) carry(node.name);
    }
    if (
      ts.isForOfStatement(node) &&
      isText(node.expression) &&
      ts.isVariableDeclarationList(node.initializer)
    )
      carry(node.initializer.declarations[0]?.name);
    if (ts.isCallExpression(node)) {
      const { expression: called, arguments: given } = node;
      const [callback] = given;
      if (
        ts.isPropertyAccessExpression(called) &&
        walkers.has(called.name.text) &&
        isText(called.expression) &&
        callback !== undefined
      ) {
        if (isFunction(callback)) carry(callback.parameters[0]?.name);
        if (ts.isIdentifier(callback)) carry(parametersOf.get(callback.text)?.[0]?.name);
      }
      if (ts.isIdentifier(called))
        given.forEach((argument, index) => {
          if (isText(argument)) carry(parametersOf.get(called.text)?.[index]?.name);
        });
    }
    ts.forEachChild(node, visit);
  };
  for (let before = -1; before !== carriers.size;) {
    before = carriers.size;
    visit(source);
  }
  return carriers;
}

const isFunction = (node: ts.Node): node is ts.ArrowFunction | ts.FunctionExpression =>
  ts.isArrowFunction(node) || ts.isFunctionExpression(node);
