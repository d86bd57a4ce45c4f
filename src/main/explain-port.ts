const settingOfPort = /^GATEHOUSE_[A-Z_]*PORT$/;
const settingOfHost = /^GATEHOUSE_([A-Z_]*_)?HOST$/;
/** The message of Node has both, and grpc-js quotes it. */
const failedListen = /\blisten (EADDRINUSE|EACCES)\b.*:(\d{1,5})\b/;
/** Node omits port 0. */
const failedAddress = /\blisten EADDRNOTAVAIL: address not available ([^\s\]]+?)(?::(\d{1,5}))?(?:[\s\]]|$)/;

/**
 * Names the setting of a port or address on which a process cannot listen, and what to do. Any other error remains as it
 * is.
 */
export function explainPort(error: Error, config: object): Error {
  const sentence = aboutAddress(error.message, config) ?? aboutPort(error.message, config);
  return sentence === undefined ? error : new Error(sentence, { cause: error });
}

function aboutPort(message: string, config: object): string | undefined {
  const [, code, port] = failedListen.exec(message) ?? [];
  const setting = settingsWith(config, settingOfPort, port);
  if (setting === '') return undefined;
  return code === 'EACCES'
    ? `this process has no right to use port ${port}; set ${setting} to another port, from 1024 on`
    : `port ${port} is in use; stop the program that uses it, or set ${setting} to another port`;
}

function aboutAddress(message: string, config: object): string | undefined {
  const [, address] = failedAddress.exec(message) ?? [];
  const setting = settingsWith(config, settingOfHost, address);
  if (setting === '') return undefined;
  return `this machine has no address ${address}; set ${setting} to one of its addresses, which 'ip -brief address' lists`;
}

const settingsWith = (config: object, names: RegExp, wanted: string | undefined): string =>
  wanted === undefined
    ? ''
    : Object.entries(config)
        .filter(([name, value]) => names.test(name) && String(value) === wanted)
        .map(([name]) => name)
        .join(' or ');
