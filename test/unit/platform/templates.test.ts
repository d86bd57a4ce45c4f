import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { readTemplates } from '../../../src/platform/http/templates.ts';

test('templates that an upgrade writes into the folder of a running process have no effect', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-templates-'));
  const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);
  try {
    write('page.eta', 'Hello <%~ include("/name", it) %>');
    write('name.eta', '<%= it.name %>');
    const templates = readTemplates(folder);
    for (const name of ['page.eta', 'name.eta']) write(name, '<%= it.nameOfTheNextVersion.first %>');

    expect(templates.render('/page', { name: '<Abebe>' })).toBe('Hello &lt;Abebe&gt;');
  } finally {
    rmSync(folder, { recursive: true });
  }
});
