import type { FastifyRequest } from 'fastify';
import type { Language } from '../../platform/language/language.ts';

/** The texts of one area of the pages in each language. English defines the keys. */
export type Dictionary<Words> = Readonly<Record<Language, Words>>;

/** The texts in the language of a request's answer. */
export const wordsFor = <Words>(request: FastifyRequest, dictionary: Dictionary<Words>): Words =>
  dictionary[request.language];
