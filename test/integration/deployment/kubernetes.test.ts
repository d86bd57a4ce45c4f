import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Ajv } from 'ajv';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { composeFilesWithTls, readComposeFile } from '../../support/compose-file.ts';
import { findGoModule } from '../../support/go-module.ts';
import { environmentOf, hasKubectl, mayConnect, renderObjects } from './kubernetes-objects.ts';
import type { KubernetesObject, PodSpec } from './kubernetes-objects.ts';

/** The settings that each deployment chooses: they are in settings.env. */
const chosen = ['_URL', '_PROXIES', '_LEVEL', 'GATEHOUSE_INSTANCE'];
const isChosen = (name: string): boolean => chosen.some((end) => name.endsWith(end));

interface Definition {
  readonly properties?: object;
  readonly format?: string;
}

/** A definition that refuses unknown fields. The API takes numbers in place of some texts, which it marks by their format. */
function strictly(definition: Definition): object {
  if (definition.format === 'int-or-string') return { type: ['string', 'integer'] };
  return definition.properties === undefined ? definition : { ...definition, additionalProperties: false };
}

const podsOf = (objects: readonly KubernetesObject[]): readonly (readonly [name: string, pod: PodSpec])[] =>
  objects.flatMap(({ metadata: { name }, spec }) =>
    spec?.template === undefined ? [] : [[name, spec.template.spec] as const],
  );

/** The objects after the operator has removed the comment signs in front of the component `tls`. */
async function renderWithTls(): Promise<readonly KubernetesObject[]> {
  const deploy = await mkdtemp(join(tmpdir(), 'gatehouse-deploy-'));
  try {
    await cp(resolve(import.meta.dirname, '../../../deploy'), deploy, { recursive: true });
    const folders = ['gatehouse', 'migrate'];
    for (const folder of folders) {
      const file = join(deploy, 'kubernetes', folder, 'kustomization.yaml');
      const text = await readFile(file, 'utf8');
      await writeFile(file, text.replace('# - ../tls', '- ../tls'));
    }
    return folders.flatMap((folder) => renderObjects(folder, deploy));
  } finally {
    await rm(deploy, { recursive: true });
  }
}

/** Without kubectl, which contains Kustomize, these are skipped. */
(hasKubectl ? describe : describe.skip)('the objects of deploy/kubernetes', () => {
  let objects: readonly KubernetesObject[];
  let withTls: readonly KubernetesObject[];
  let pods: readonly (readonly [name: string, pod: PodSpec])[];

  beforeAll(async () => {
    objects = ['gatehouse', 'migrate', 'ingress'].flatMap((folder) => renderObjects(folder));
    withTls = await renderWithTls();
    pods = podsOf(objects);
  });
  const named = (kind: string): readonly string[] =>
    objects.filter((object) => object.kind === kind).map(({ metadata }) => metadata.name);

  /** The API of Kubernetes describes itself in its sources, which are a Go module. Without Go this is skipped. */
  const kubernetes = findGoModule('k8s.io/kubernetes@v1.34.1');
  (kubernetes === undefined ? test.skip : test)(
    'have the fields of the Kubernetes API and no others, and a mistake in one is found',
    async () => {
      const text = await readFile(join(kubernetes ?? '', 'api/openapi-spec/swagger.json'), 'utf8');
      const { definitions } = JSON.parse(text) as {
        readonly definitions: Readonly<Record<string, Definition>>;
      };
      const strict = Object.fromEntries(
        Object.entries(definitions).map(([name, definition]) => [name, strictly(definition)]),
      );
      const ajv = new Ajv({ strict: false, validateFormats: false }).addSchema(
        { definitions: strict },
        'api',
      );
      const problemsOf = (object: KubernetesObject): readonly unknown[] => {
        const version = object.apiVersion.replace('.k8s.io', '').split('/');
        const [group = '', number = ''] = version.length === 1 ? ['core', ...version] : version;
        const isValid = ajv.getSchema(`api#/definitions/io.k8s.api.${group}.${number}.${object.kind}`);
        if (isValid === undefined) return [`unknown kind ${object.apiVersion} ${object.kind}`];
        return isValid(object) === true ? [] : (isValid.errors ?? []);
      };
      for (const object of [...objects, ...withTls])
        expect({ of: object.metadata.name, kind: object.kind, problems: problemsOf(object) }).toEqual({
          of: object.metadata.name,
          kind: object.kind,
          problems: [],
        });
      const [first] = objects.flatMap((each) => (each.kind === 'Deployment' ? [each] : []));
      const mistaken = first && { ...first, spec: { ...first.spec, replica: 2 } };
      expect(mistaken && problemsOf(mistaken)).toEqual([expect.objectContaining({ instancePath: '/spec' })]);
    },
  );

  test('the manifests run each process with the arguments and settings of its container in docker-compose.yml', async () => {
    const services = await readComposeFile({});
    const processes = pods.filter(([name]) => name !== 'nats' && name !== 'migrate');
    expect(processes.map(([name]) => name).sort()).toEqual([
      ...['checkout', 'core', 'dashboard', 'rest-facade', 'wallet-simulator', 'wallets', 'webhooks'],
    ]);
    for (const [name, { containers }] of processes) {
      const service = services.find((each) => each.name === name);
      const written = Object.entries(service?.environment ?? {}).filter(([, value]) => value !== '');
      const own = Object.entries(environmentOf(containers[0], objects));
      const fixed = (entries: readonly (readonly [string, string])[]) =>
        Object.fromEntries(entries.filter(([setting]) => !isChosen(setting)));
      expect({ name, args: containers[0].args, env: fixed(own) }).toEqual({
        name,
        args: service?.command,
        env: fixed(written),
      });
      for (const [setting] of written) expect(own.map(([each]) => each)).toContain(setting);
    }
    const nats = services.find(({ name }) => name === 'nats');
    const { command, args, image } = pods.find(([name]) => name === 'nats')?.[1].containers[0] ?? {};
    expect({ command, args, image }).toEqual({
      command: nats?.entrypoint,
      args: nats?.command,
      image: nats?.image,
    });
  });

  test('the manifests give no pod privileges, a writable image or the secrets of another process', () => {
    for (const [name, pod] of pods) {
      expect({ name, ...pod }).toMatchObject({
        name,
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
        containers: [
          {
            securityContext: {
              allowPrivilegeEscalation: false,
              readOnlyRootFilesystem: true,
              capabilities: { drop: ['ALL'] },
            },
          },
        ],
      });
      const [{ volumeMounts, env = [] }] = pod.containers;
      const secrets = (pod.volumes ?? []).flatMap(({ secret }) => secret?.secretName ?? []);
      const own = name === 'migrate' ? ['gatehouse-core', 'gatehouse-webhooks'] : [`gatehouse-${name}`];
      expect({ name, secrets }).toEqual({ name, secrets: own });
      for (const { name: setting, value = '' } of env) {
        if (!value.startsWith('/')) continue;
        const isMounted = volumeMounts.some(({ mountPath }) => `${value}/`.startsWith(`${mountPath}/`));
        expect({ name, setting, isMounted }).toEqual({ name, setting, isMounted: true });
      }
    }
  });

  test('the component `tls` has the settings of docker-compose.tls.yml, and a certificate for each process', async () => {
    const services = await readComposeFile({}, composeFilesWithTls);
    const isTls = ([setting]: readonly [string, string]): boolean => /^(GATEHOUSE|NATS)_TLS_/.test(setting);
    for (const [name, { containers, volumes = [] }] of podsOf(withTls)) {
      const [container] = containers;
      const own = Object.entries(environmentOf(container, withTls)).filter(isTls);
      const service = services.find((each) => each.name === name);
      const folder = `/etc/gatehouse/tls/${name}`;
      const mounted = container.volumeMounts.filter(({ mountPath }) => mountPath.includes('/tls'));
      const secrets = volumes.filter((volume) => volume.secret?.secretName.endsWith('-tls') === true);
      if (name === 'wallet-simulator') {
        expect({ name, own, mounted, secrets }).toEqual({ name, own: [], mounted: [], secrets: [] });
        continue;
      }
      if (service !== undefined)
        expect({ name, own: Object.fromEntries(own) }).toEqual({
          name,
          own: Object.fromEntries(Object.entries(service.environment).filter(isTls)),
        });
      expect(own.map(([, value]) => value).filter((value) => value.startsWith('/'))).toEqual(
        ['ca.crt', 'tls.crt', 'tls.key'].map((file) => `${folder}/${file}`),
      );
      expect(mounted).toEqual([{ name: 'tls', mountPath: folder, readOnly: true }]);
      expect(secrets).toMatchObject([{ name: 'tls', secret: { secretName: `gatehouse-${name}-tls` } }]);
      if (name === 'nats') expect(container.args).toEqual(service?.command);
      // The kubelet cannot check a gRPC server with TLS.
      expect(JSON.stringify(container)).not.toContain('"grpc":{');
    }
  });

  test('the example of certificates has the names that clients check, and the role of each client', () => {
    const certificates = renderObjects('certificates').flatMap(({ kind, metadata, spec = {} }) =>
      kind === 'Certificate' && spec['isCA'] !== true ? [[metadata.name, spec] as const] : [],
    );
    const wanted = podsOf(withTls).flatMap(([, { volumes = [] }]) =>
      volumes.flatMap(({ secret }) => secret?.secretName ?? []).filter((name) => name.endsWith('-tls')),
    );
    expect(certificates.map(([, spec]) => spec['secretName']).sort()).toEqual(
      [...wanted, 'gatehouse-prometheus-tls'].sort(),
    );
    for (const [name, spec] of certificates) {
      const isServer = ['core', 'webhooks', 'nats'].includes(name);
      const role = name === 'rest-facade' ? 'facade' : name;
      const hasRole = ['rest-facade', 'checkout', 'dashboard', 'wallets', 'webhooks'].includes(name);
      expect({ name, ...spec }).toMatchObject({
        name,
        usages: ['digital signature', ...(isServer ? ['server auth'] : []), 'client auth'],
      });
      expect({ name, names: spec['dnsNames'], uris: spec['uris'] }).toEqual({
        name,
        names: isServer ? [name, 'localhost'] : undefined,
        uris: hasRole ? [`spiffe://gatehouse.internal/gatehouse/${role}`] : undefined,
      });
    }
  });

  test('the manifests probe every server, keep one pod of each while a node is drained, and scale core', () => {
    const servers = pods.filter(([name]) => name !== 'migrate');
    for (const [name, { containers }] of servers)
      expect({ name, probes: Object.keys(containers[0]) }).toEqual({
        name,
        probes: expect.arrayContaining(['startupProbe', 'readinessProbe', 'livenessProbe']),
      });
    expect(named('PodDisruptionBudget')).toEqual([
      ...['checkout', 'core', 'dashboard', 'rest-facade', 'wallets', 'webhooks'],
    ]);
    const [core] = objects.filter(({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'core');
    expect(core?.spec).not.toHaveProperty('replicas');
    expect(named('HorizontalPodAutoscaler')).toEqual(['core']);
  });

  test('a pod lives for longer than its migration waits for locks or NATS reads its store, and PostgreSQL has a connection for each', async () => {
    const find = (kind: string, name: string) =>
      objects.find((object) => object.kind === kind && object.metadata.name === name)?.spec ?? {};
    // 60 attempts of a lock timeout of two seconds, and a pause of one. NATS reads its store after a crash.
    const startSeconds: Readonly<Record<string, number>> = { core: 300, webhooks: 300, nats: 1800 };
    for (const [name, { containers }] of pods.filter(([each]) => each in startSeconds)) {
      const { periodSeconds, failureThreshold } = containers[0]['startupProbe'] as Record<string, number>;
      const seconds = (periodSeconds ?? 0) * (failureThreshold ?? 0);
      expect({ name, seconds }).toEqual({ name, seconds: startSeconds[name] });
    }
    const page = await readFile(join(import.meta.dirname, '../../../docs/operating/kubernetes.md'), 'utf8');
    const cores = Number(find('HorizontalPodAutoscaler', 'core')['maxReplicas']) + 1;
    const webhooks = Number(find('Deployment', 'webhooks')['replicas']) + 1;
    expect(Number(/`max_connections` of at least (\d+)/.exec(page)?.[1])).toBeGreaterThanOrEqual(
      12 * (cores + webhooks) + 10,
    );
  });

  test('the manifests route each public URL of the settings to a port of a service', () => {
    const [ingress] = objects.filter(({ kind }) => kind === 'Ingress');
    const rules = (ingress?.spec?.['rules'] ?? []) as readonly {
      readonly host: string;
      readonly http: {
        readonly paths: readonly [
          {
            readonly backend: {
              readonly service: { readonly name: string; readonly port: { readonly name: string } };
            };
          },
        ];
      };
    }[];
    for (const { http } of rules) {
      const { name, port } = http.paths[0].backend.service;
      const service = objects.find(({ kind, metadata }) => kind === 'Service' && metadata.name === name);
      expect({ name, ports: service?.spec?.['ports'] }).toEqual({
        name,
        ports: expect.arrayContaining([expect.objectContaining({ name: port.name })]),
      });
    }
    const [settings] = objects.filter(({ metadata }) => metadata.name.startsWith('gatehouse-settings'));
    const hosts = Object.values(settings?.data ?? {}).flatMap((value) =>
      value.startsWith('https://') ? [new URL(value).host] : [],
    );
    expect(rules.map(({ host }) => host)).toEqual(expect.arrayContaining(hosts));
    expect(hosts).toHaveLength(4);
  });

  test('the manifests allow every connection that a setting names, and no other between processes', async () => {
    const wallets = await readFile(
      join(import.meta.dirname, '../../../deploy/wallets/simulated.json'),
      'utf8',
    );
    const names = pods.map(([name]) => name);
    const settings = pods.map(([name, { containers }]) => {
      const values = Object.values(environmentOf(containers[0], objects)).join(' ');
      const files = `${values}${name === 'wallets' ? wallets : ''}`;
      const own = name === 'core' || name === 'webhooks' || name === 'wallets' ? `${files} nats:4222` : files;
      return [name, name === 'wallet-simulator' ? 'http://wallets:8084' : own] as const;
    });
    const needed = settings.flatMap(([name, text]) =>
      [...text.matchAll(/\b([a-z-]+):(\d{4,5})\b/g)].map(([, host = '', port]) => `${name} ${host}:${port}`),
    );
    // Every process has the public settings, but only the simulator calls the wallets' callbacks.
    const isReal = (line: string): boolean =>
      !line.endsWith(' wallets:8084') || line.startsWith('wallet-simulator');
    const allowed = names.flatMap((name) =>
      ['core:50051', 'webhooks:50053', 'nats:4222', 'wallets:8084', 'wallet-simulator:8090', 'core:50052']
        .filter((address) => {
          const [host = '', port] = address.split(':');
          return mayConnect(objects, name, { name: host, port: Number(port) });
        })
        .map((address) => `${name} ${address}`),
    );
    const expected = [...new Set(needed.filter(isReal))].sort();
    // Every client may call the public listener of callbacks.
    expect(allowed.filter(isReal).sort()).toEqual(expected);
  });
});
