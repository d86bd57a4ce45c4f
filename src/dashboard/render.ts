import { join } from 'node:path';
import { Eta } from 'eta';

/** Gives a template with what it is given as HTML. Whatever is put into it is escaped by the template. */
export type Render = (template: string, data: object) => string;

/** Reads the templates on first use, and keeps them. */
export function createRender(): Render {
  const eta = new Eta({ views: join(import.meta.dirname, 'templates'), cache: true, autoEscape: true });
  return (template, data) => eta.render(`/${template}`, data);
}
