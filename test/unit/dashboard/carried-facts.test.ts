import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { privateFields } from '../../../src/dashboard/forms/carry-form.ts';
import { fieldLabels, unseenFields } from '../../../src/dashboard/sign-in/carried-facts.ts';

const templates = join(import.meta.dirname, '../../../src/dashboard/templates');

/** The names of the fields that the template sends by POST. A name that an expression computes is left out. */
function namesIn(template: string): string[] {
  const text = readFileSync(join(templates, template), 'utf8');
  const forms = template.endsWith('-form.eta')
    ? [text]
    : text.match(/<form [^>]*?method="post".*?<\/form>/gs);
  return (forms ?? []).flatMap((form) =>
    [...form.matchAll(/\bname="(\w+)"|\bname: '(\w+)'/g)].map(([, html = '', part = html]) => part),
  );
}

/** The pages of people who are not signed in keep no form. */
const isKept = (template: string): boolean => !/^(sign-in|invitation)\//.test(template);

const names = readdirSync(templates, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.eta') && isKept(file))
  .flatMap(namesIn)
  .filter((name) => !privateFields.test(name) && !unseenFields.has(name));

test.each(['en', 'am'] as const)('each field that a sign-in can interrupt has a label in %p', (language) => {
  expect(names).toEqual(expect.arrayContaining(['label', 'help', 'on', 'type']));
  expect(Object.keys(fieldLabels(language))).toEqual(expect.arrayContaining(names));
});
