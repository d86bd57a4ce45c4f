import { readFileSync } from 'node:fs';

/** docs/webhooks.md */
export const pageText = (): string =>
  readFileSync(new URL('../../../docs/webhooks.md', import.meta.url), 'utf8');

/** The code block of docs/webhooks.md with this title: what merchants' developers copy. */
export function snippet(title: string): string {
  const text = pageText();
  const start = text.indexOf(` title=${title}\n`);
  const from = text.indexOf('\n', start) + 1;
  const to = text.indexOf('\n```', from);
  if (start === -1 || to === -1) throw new Error(`docs/webhooks.md has no code block with title=${title}`);
  return text.slice(from, to + 1);
}

/** The example request of docs/webhooks.md: its headers, names in lower case, its body, and the secret it is signed with. */
export function exampleRequest(): {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly secret: string;
} {
  const text = pageText();
  const request = /```http\nPOST .*\n([^]*?)\n\n([^]*?)\n```/.exec(text);
  const secret = /`(whsec_[A-Za-z0-9+/=]+)`/.exec(text)?.[1];
  if (request === null || secret === undefined) throw new Error('docs/webhooks.md has no example request');
  const headers = (request[1] ?? '').split('\n').map((line) => {
    const colon = line.indexOf(': ');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 2)] as const;
  });
  return { headers: Object.fromEntries(headers), body: Buffer.from(request[2] ?? ''), secret };
}

/**
 * A language that the page has code for, and the program that the test adds. The program reads cases from its standard input, and answers
 * each with a line, "genuine" or "refused". A case is a line of base64 texts with tabs between: kind ("standard" or "svc"), id, timestamp,
 * signature, body, and secrets with commas between.
 */
export interface Language {
  readonly name: string;
  /** Programs that it takes. */
  readonly tools: readonly (readonly [program: string, versionFlag: string])[];
  readonly snippet: string;
  /** Where the snippet goes, when it is not its title. */
  readonly path?: string;
  readonly files: Readonly<Record<string, string>>;
  /** Each is run in the folder of the files; the last one reads the cases. */
  readonly commands: readonly (readonly [string, ...string[]])[];
  readonly environment?: (folder: string) => Readonly<Record<string, string>>;
}

export const languages: readonly Language[] = [
  {
    name: 'TypeScript',
    tools: [[process.execPath, '--version']],
    snippet: 'verify-webhook.ts',
    files: {
      'run.ts': `
import { readFileSync } from 'node:fs';
import { verifySvcSignature, verifyWebhook } from './verify-webhook.ts';
for (const line of readFileSync(0, 'utf8').split('\\n').slice(0, -1)) {
  const [kind, id, timestamp, signature, body, secrets] = line.split('\\t').map((field) => Buffer.from(field, 'base64'));
  const list = String(secrets).split(',');
  const isGenuine = String(kind) === 'standard'
    ? verifyWebhook(String(id), String(timestamp), String(signature), body, list)
    : verifySvcSignature(String(signature), body, list);
  console.log(isGenuine ? 'genuine' : 'refused');
}
`,
    },
    commands: [[process.execPath, 'run.ts']],
  },
  {
    name: 'Python',
    tools: [['python3', '--version']],
    snippet: 'verify_webhook.py',
    files: {
      'run.py': `
import base64, sys
from verify_webhook import verify_svc_signature, verify_webhook
for line in sys.stdin.read().split("\\n")[:-1]:
    kind, id, timestamp, signature, body, secrets = [base64.b64decode(field) for field in line.split("\\t")]
    secrets = secrets.decode().split(",")
    if kind == b"standard":
        genuine = verify_webhook(id.decode(), timestamp.decode(), signature.decode(), body, secrets)
    else:
        genuine = verify_svc_signature(signature.decode(), body, secrets)
    print("genuine" if genuine else "refused")
`,
    },
    commands: [['python3', 'run.py']],
    environment: () => ({ PYTHONDONTWRITEBYTECODE: '1' }),
  },
  {
    name: 'PHP',
    tools: [['php', '--version']],
    snippet: 'verify_webhook.php',
    files: {
      'run.php': `<?php
require 'verify_webhook.php';
while (($line = fgets(STDIN)) !== false) {
    [$kind, $id, $timestamp, $signature, $body, $secrets] = array_map('base64_decode', explode("\\t", rtrim($line, "\\n")));
    $secrets = explode(',', $secrets);
    $genuine = $kind === 'standard'
        ? verify_webhook($id, $timestamp, $signature, $body, $secrets)
        : verify_svc_signature($signature, $body, $secrets);
    echo $genuine ? "genuine\\n" : "refused\\n";
}
`,
    },
    commands: [['php', '-d', 'display_errors=stderr', 'run.php']],
  },
  {
    name: 'Java',
    tools: [
      ['javac', '-version'],
      ['java', '-version'],
    ],
    snippet: 'WebhookVerifier.java',
    files: {
      'Run.java': `
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
public class Run {
    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            byte[][] fields = Arrays.stream(line.split("\\t", -1)).map(Base64.getDecoder()::decode).toArray(byte[][]::new);
            List<String> secrets = List.of(text(fields[5]).split(","));
            boolean genuine = text(fields[0]).equals("standard")
                ? WebhookVerifier.verifyWebhook(text(fields[1]), text(fields[2]), text(fields[3]), fields[4], secrets)
                : WebhookVerifier.verifySvcSignature(text(fields[3]), fields[4], secrets);
            System.out.println(genuine ? "genuine" : "refused");
        }
    }
    private static String text(byte[] field) { return new String(field, StandardCharsets.UTF_8); }
}
`,
    },
    commands: [
      ['javac', '-encoding', 'UTF-8', 'Run.java', 'WebhookVerifier.java'],
      ['java', 'Run'],
    ],
  },
  {
    name: 'Go',
    tools: [['go', 'version']],
    snippet: 'verify.go',
    path: 'webhooks/verify.go',
    files: {
      'go.mod': 'module example\n\ngo 1.18\n',
      'main.go': `package main

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"os"
	"strings"

	"example/webhooks"
)

func main() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var fields []string
		for _, field := range strings.Split(in.Text(), "\\t") {
			value, _ := base64.StdEncoding.DecodeString(field)
			fields = append(fields, string(value))
		}
		secrets := strings.Split(fields[5], ",")
		genuine := webhooks.VerifySvcSignature(fields[3], []byte(fields[4]), secrets)
		if fields[0] == "standard" {
			genuine = webhooks.VerifyWebhook(fields[1], fields[2], fields[3], []byte(fields[4]), secrets)
		}
		if genuine {
			fmt.Println("genuine")
		} else {
			fmt.Println("refused")
		}
	}
}
`,
    },
    commands: [['go', 'run', '.']],
    environment: (folder) => ({
      GOPATH: `${folder}/path`,
      GOTOOLCHAIN: 'local',
      GOFLAGS: `-mod=mod ${process.env['GOFLAGS'] ?? ''}`,
    }),
  },
];
