const settingOfPort = /^GATEHOUSE_[A-Z_]*PORT$/;
/** The message of Node has both, and grpc-js quotes it. */
const failedListen = /\blisten (EADDRINUSE|EACCES)\b.*:(\d{1,5})\b/;

/** Names the setting of a port on which a process cannot listen, and what to do. Any other error remains as it is. */
export function explainPort(error: Error, config: object): Error {
  const [, code, port] = failedListen.exec(error.message) ?? [];
  const setting = Object.entries(config)
    .filter(([name, value]) => settingOfPort.test(name) && String(value) === port)
    .map(([name]) => name)
    .join(' or ');
  if (port === undefined || setting === '') return error;
  const sentence =
    code === 'EACCES'
      ? `this process has no right to use port ${port}; set ${setting} to another port, from 1024 on`
      : `port ${port} is in use; stop the program that uses it, or set ${setting} to another port`;
  return new Error(sentence, { cause: error });
}
