import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

const folders = ['dashboard', 'checkout'].map((name) =>
  join(import.meta.dirname, '../../../src', name, 'templates'),
);

const errors = folders.flatMap((folder) =>
  globSync('**/*.eta', { cwd: folder }).flatMap((template) => {
    const text = readFileSync(join(folder, template), 'utf8');
    return [...text.matchAll(/class="error"(?: id="([^"]+)")?/g)].map(([, id]) => ({ template, text, id }));
  }),
);

/** The parts that the expressions of a template leave of an id, such as "-error" of "<%= it.name %>-error". */
const fixedParts = (id: string): string[] => id.split(/<%=.*?%>/).filter((part) => part !== '');

test('the error of a field has an id, by which the field is described', () => {
  const notDescribed = errors.filter(({ text, id }) => {
    const descriptions = text.split('\n').filter((line) => line.includes('described'));
    return (
      id === undefined || !descriptions.some((line) => fixedParts(id).every((part) => line.includes(part)))
    );
  });

  expect(errors.length).toBeGreaterThan(10);
  expect(notDescribed.map(({ template, id }) => [template, id])).toEqual([]);
});
