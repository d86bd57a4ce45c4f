import buildAjvValidators from '@fastify/ajv-compiler';
import buildSerializers from '@fastify/fast-json-stringify-compiler';

/** Compiles the schema of a route once in a process. All results are kept, because the routes of the listeners are fixed. */
function compileOnce<Schemas, Options, Route, Compiled>(
  build: (schemas: Schemas, options?: Options) => (route: Route) => Compiled,
) {
  const compilers = new Map<string, (route: Route) => Compiled>();
  return (schemas: Schemas, options?: Options): ((route: Route) => Compiled) => {
    const key = JSON.stringify([schemas, options]);
    const known = compilers.get(key);
    if (known !== undefined) return known;
    const compile = build(schemas, options);
    const compiled = new Map<string, Compiled>();
    const compiler = (route: Route): Compiled => {
      const text = JSON.stringify(route);
      const made = compiled.get(text) ?? compile(route);
      compiled.set(text, made);
      return made;
    };
    compilers.set(key, compiler);
    return compiler;
  };
}

/**
 * Fastify's own compilers of JSON schemas, shared by all listeners of a process. By default each listener compiles its own,
 * so a facade would compile the same schemas for the sandbox and for production.
 */
export const schemaCompilers = {
  buildValidator: compileOnce(buildAjvValidators()),
  buildSerializer: compileOnce(buildSerializers()),
};
