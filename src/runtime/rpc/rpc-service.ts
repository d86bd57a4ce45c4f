import type { DescService } from '@bufbuild/protobuf';
import { createServiceImplSpec } from '@connectrpc/connect';
import type { ServiceImpl, ServiceImplSpec } from '@connectrpc/connect';
import type { Role } from './service-tokens.ts';

/** The roles that may call a method; 'anyone' needs no service token at all. */
export type Access = readonly Role[] | 'anyone';

/** A service ready to be served over any protocol: its implementation, written once, and who may call what. */
export interface RpcService {
  readonly spec: ServiceImplSpec;
  readonly access: ReadonlyMap<string, Access>;
}

/** Joins an implementation to its contract. A method without an entry in `access` does not compile. */
export function rpcService<S extends DescService>(
  service: S,
  implementation: ServiceImpl<S>,
  access: { readonly [Method in keyof S['method']]: Access },
): RpcService {
  return {
    spec: createServiceImplSpec<S>(service, implementation),
    access: new Map(Object.entries<Access>(access)),
  };
}
