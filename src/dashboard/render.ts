import { join } from 'node:path';
import { Eta } from 'eta';

/** Renders a template to HTML. The template escapes all values. */
export type Render = (template: string, data: object) => string;

/** Reads each template on first use and caches it. */
export function createRender(): Render {
  const eta = new Eta({ views: join(import.meta.dirname, 'templates'), cache: true, autoEscape: true });
  return (template, data) => eta.render(`/${template}`, data);
}
