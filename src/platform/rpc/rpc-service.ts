import type { DescService } from '@bufbuild/protobuf';
import { createServiceImplSpec } from '@connectrpc/connect';
import type { ServiceImpl, ServiceImplSpec } from '@connectrpc/connect';

/** The roles that may call a method; 'any role' takes every service token, and 'anyone' needs none at all. */
export type Access<Role extends string = string> = readonly Role[] | 'any role' | 'anyone';

/** A service ready to be served over any protocol: its implementation, written once, and who may call what. */
export interface RpcService {
  readonly spec: ServiceImplSpec;
  readonly access: ReadonlyMap<string, Access>;
}

/** Joins an implementation to its contract. A method without an entry in `access` does not compile. */
export function rpcService<S extends DescService, Role extends string = string>(
  service: S,
  implementation: ServiceImpl<S>,
  access: { readonly [Method in keyof S['method']]: Access<Role> },
): RpcService {
  return {
    spec: createServiceImplSpec<S>(service, implementation),
    access: new Map(Object.entries<Access>(access)),
  };
}
