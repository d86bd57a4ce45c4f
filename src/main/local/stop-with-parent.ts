/**
 * Preloaded (`node --import`) into child processes that have an IPC channel to their parent. When the parent exits for
 * any reason, this process begins to stop, and exits at the deadline.
 */
const exitDeadlineMs = 10_000;

process.once('disconnect', () => {
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), exitDeadlineMs).unref();
  process.kill(process.pid, 'SIGTERM');
});
// The channel must not keep this process alive.
process.channel?.unref();

export {};
