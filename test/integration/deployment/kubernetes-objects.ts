import { spawnSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { parseAllDocuments } from 'yaml';

const root = resolve(import.meta.dirname, '../../..');

export interface EnvironmentVariable {
  readonly name: string;
  readonly value?: string;
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly EnvironmentVariable[];
  readonly envFrom?: readonly { readonly configMapRef: { readonly name: string } }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly volumeMounts: readonly {
    readonly name: string;
    readonly mountPath: string;
    readonly readOnly?: boolean;
  }[];
  readonly [field: string]: unknown;
}

export interface PodSpec {
  readonly containers: readonly [Container];
  readonly volumes?: readonly { readonly name: string; readonly secret?: { readonly secretName: string } }[];
  readonly [field: string]: unknown;
}

interface Selector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly { readonly key: string; readonly values: readonly string[] }[];
}
interface Rule {
  readonly from?: readonly { readonly podSelector?: Selector }[];
  readonly to?: readonly { readonly podSelector?: Selector }[];
  readonly ports?: readonly { readonly port: number }[];
}
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: {
    readonly template?: { readonly spec: PodSpec };
    readonly podSelector?: Selector;
    readonly ingress?: readonly Rule[];
    readonly egress?: readonly Rule[];
    readonly [field: string]: unknown;
  };
}

/** Whether this machine has kubectl, which contains Kustomize. */
export const hasKubectl = spawnSync('kubectl', ['version', '--client'], { stdio: 'ignore' }).status === 0;

/** The objects of a folder in deploy/kubernetes, or in a copy of `deploy`, as `kubectl apply -k` would create them. */
export function renderObjects(folder: string, deploy = join(root, 'deploy')): readonly KubernetesObject[] {
  const args = ['kustomize', join(deploy, 'kubernetes', folder)];
  const { status, stdout, stderr } = spawnSync('kubectl', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return parseAllDocuments(stdout).map((document) => document.toJS() as KubernetesObject);
}

/** The environment of a container, with the settings of its config map. */
export function environmentOf(
  container: Container,
  objects: readonly KubernetesObject[],
): Readonly<Record<string, string>> {
  const maps = (container.envFrom ?? []).map(({ configMapRef: { name } }) => {
    const map = objects.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === name);
    if (map?.data === undefined) throw new Error(`there is no ConfigMap ${name}`);
    return map.data;
  });
  const own = (container.env ?? []).map(({ name, value = '' }) => [name, value] as const);
  return Object.assign({}, ...maps, Object.fromEntries(own)) as Record<string, string>;
}

const label = 'app.kubernetes.io/name';
const selects = ({ matchLabels = {}, matchExpressions = [] }: Selector, name: string): boolean =>
  Object.entries(matchLabels).every(([key, value]) => key === label && value === name) &&
  matchExpressions.every(({ key, values }) => key === label && values.includes(name));

/** Whether the network policies let one process of Gatehouse connect to another. */
export function mayConnect(
  objects: readonly KubernetesObject[],
  from: string,
  to: { readonly name: string; readonly port: number },
): boolean {
  const policies = objects.filter(({ kind }) => kind === 'NetworkPolicy').map(({ spec = {} }) => spec);
  const allows = (rule: Rule, peers: Rule['from'], peer: string): boolean =>
    (rule.ports === undefined || rule.ports.some(({ port }) => port === to.port)) &&
    (peers === undefined ||
      peers.some(({ podSelector }) => podSelector !== undefined && selects(podSelector, peer)));
  const sends = policies
    .filter(({ podSelector = {} }) => selects(podSelector, from))
    .some(({ egress = [] }) => egress.some((rule) => allows(rule, rule.to, to.name)));
  const receives = policies
    .filter(({ podSelector = {} }) => selects(podSelector, to.name))
    .some(({ ingress = [] }) => ingress.some((rule) => allows(rule, rule.from, from)));
  return sends && receives;
}
