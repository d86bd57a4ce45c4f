/**
 * Runs a main file of Gatehouse several times in one process, each time with settings of its own. GATEHOUSE_BENCH_EACH is a JSON array of
 * them, and GATEHOUSE_BENCH_MAIN the name of the file.
 */
const { GATEHOUSE_BENCH_EACH: each = '[]', GATEHOUSE_BENCH_MAIN: main = '' } = process.env;
delete process.env['GATEHOUSE_BENCH_EACH'];
delete process.env['GATEHOUSE_BENCH_MAIN'];

for (const [index, settings] of (JSON.parse(each) as Readonly<Record<string, string>>[]).entries()) {
  Object.assign(process.env, settings);
  // The main file is loaded again, and everything that it imports is shared.
  await import(`../../src/main/${main}.ts?${index}`);
}
