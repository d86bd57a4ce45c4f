import { randomInt } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { newSigningKey, publicKeyOf, signReport } from '../../cli/prove/report.ts';
import type { ProveTools } from '../../cli/prove-command.ts';
import type { ProcessEnvironment } from '../../platform/settings/read-settings.ts';
import { hasCode } from '../local/error-code.ts';
import { readIfThere, writePrivateFile } from '../local/private-file.ts';
import { StartError } from '../local/start-error.ts';
import { runCampaign } from './campaign.ts';
import type { CampaignParts } from './campaign.ts';

const keyFile = 'signing-key.pem';
const largestSeed = 2 ** 31;

/** The commands of `gatehouse prove`. They need no running gateway. */
export function proveTools(
  environment: ProcessEnvironment,
  projectRoot: string,
  network: Pick<CampaignParts, 'openLink'> = {},
): ProveTools {
  return {
    async run(options, { folder, report, signal }) {
      const own = resolve(folder);
      const seed = options.seed ?? randomInt(largestSeed);
      // An unusable key or file is found before the campaign, which takes minutes.
      const key = await signingKey(options.keyFile, own);
      const file = resolve(options.reportFile ?? join(own, 'reports', `${nameOf(new Date())}-${seed}.json`));
      await reserveFile(file);
      report(`Seed ${seed}. To repeat this campaign, add: --seed ${seed}`);
      const parts = { projectRoot, environment, folder: own, report, signal, ...network };
      const { report: results, keptFolder } = await runCampaign({ ...options, seed }, parts).catch(
        async (error: unknown) => {
          await rm(file, { force: true });
          throw error;
        },
      );
      await writeFile(file, signReport(results, key));
      return { report: results, file, publicKey: publicKeyOf(key), keptFolder };
    },
    async knownKey(given, folder) {
      const own = resolve(folder, keyFile);
      const text = given === undefined ? await readIfThere(own) : await readKey(given);
      return text === undefined ? undefined : publicKeyIn(text, given ?? own);
    },
  };
}

const nameOf = (date: Date): string => date.toISOString().replace(/[:.]/g, '-').slice(0, 19);

async function signingKey(given: string | undefined, folder: string): Promise<string> {
  if (given !== undefined) {
    const text = await readKey(given);
    if (!text.includes('PRIVATE KEY')) throw unusableKey(given, 'it contains no private key');
    publicKeyIn(text, given);
    return text;
  }
  const path = join(folder, keyFile);
  const known = await readIfThere(path);
  if (known !== undefined) {
    publicKeyIn(known, path);
    return known;
  }
  await mkdir(folder, { recursive: true, mode: 0o711 });
  const key = newSigningKey();
  await writePrivateFile(path, key);
  return key;
}

async function readKey(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw unusableKey(path, error instanceof Error && 'code' in error ? String(error.code) : 'unreadable');
  }
}

function publicKeyIn(pem: string, path: string): string {
  try {
    return publicKeyOf(pem);
  } catch (error) {
    throw unusableKey(path, error instanceof Error ? error.message : String(error));
  }
}

const unusableKey = (path: string, why: string): StartError =>
  new StartError(
    `${path} cannot be used as the key of reports (${why}).\nMake a key with: openssl genpkey -algorithm ed25519 -out key.pem`,
  );

/** Ensures that the file can be written, and that it is no earlier report. */
async function reserveFile(file: string): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, '', { flag: 'wx' });
  } catch (error) {
    if (hasCode(error, 'EEXIST'))
      throw new StartError(`${file} exists already.\nName another file with --report.`);
    const why = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new StartError(
      `The report cannot be written to ${file} (${why}).\nName another file with --report.`,
    );
  }
}
