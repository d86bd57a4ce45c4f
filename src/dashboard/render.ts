import { join } from 'node:path';
import { readTemplates } from '../platform/http/templates.ts';

/** Renders a template to HTML. The template escapes all values. */
export type Render = (template: string, data: object) => string;

/** Reads the templates now, and compiles each on first use. */
export function createRender(): Render {
  const eta = readTemplates(join(import.meta.dirname, 'templates'));
  return (template, data) => eta.render(`/${template}`, data);
}
