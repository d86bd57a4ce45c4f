import { readFileSync } from 'node:fs';

/** The text of a setting, undefined when it is not set, or why its file is of no use. The problem never contains the text. */
export type SettingText = { readonly text: string | undefined } | { readonly problem: string };

/**
 * The text of a setting: its variable, or the content of the file that the variable with `_FILE` appended names. The variable
 * wins. A byte order mark at the file's beginning and a line break at its end are ignored, because editors add them. An empty variable
 * counts as not set.
 */
export function readSettingText(
  environment: Readonly<Record<string, string | undefined>>,
  name: string,
): SettingText {
  const text = environment[name] ?? '';
  if (text !== '') return { text };
  const file = environment[`${name}_FILE`] ?? '';
  if (file === '') return { text: undefined };
  try {
    const content = readFileSync(file, 'utf8').replace(/^\uFEFF|\r?\n$/g, '');
    return content === '' ? { problem: `the file that ${name}_FILE names is empty` } : { text: content };
  } catch (error) {
    const why = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    return { problem: `the file that ${name}_FILE names cannot be read (${why})` };
  }
}
