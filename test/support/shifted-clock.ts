/** Preloaded into a process (node --import): its clock is wrong by TEST_CLOCK_SHIFT_MS. */
const shiftMs = Number(process.env['TEST_CLOCK_SHIFT_MS']);
const RightDate = globalThis.Date;

globalThis.Date = new Proxy(RightDate, {
  construct: (target, given: unknown[], newTarget) =>
    Reflect.construct(target, given.length === 0 ? [target.now() + shiftMs] : given, newTarget) as object,
  get: (target, name, receiver): unknown =>
    name === 'now' ? () => target.now() + shiftMs : Reflect.get(target, name, receiver),
});
