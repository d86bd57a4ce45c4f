/**
 * Preloaded (`node --import`) into the processes that another one starts and holds by an IPC channel: when that one is
 * gone, however it ended, this process is asked to stop, and made to if it does not.
 */
const exitDeadlineMs = 10_000;

process.once('disconnect', () => {
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), exitDeadlineMs).unref();
  process.kill(process.pid, 'SIGTERM');
});
// Listening must not be what keeps this process alive.
process.channel?.unref();

export {};
