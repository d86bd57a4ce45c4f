import { ChangeSetType } from '@mikro-orm/core';
import type { EntityManager, EntityName } from '@mikro-orm/postgresql';

/** The rows that the ORM has yet to write. */
export interface UnwrittenRows {
  /** How many there are, of all entities. */
  readonly count: number;
  readonly createdOf: <Row extends object>(entity: EntityName<Row>) => Row[];
  /** The rows of which only these properties have changed. */
  readonly changedOf: <Row extends object>(
    entity: EntityName<Row>,
    properties: ReadonlySet<keyof Row>,
  ) => Row[];
}

/** Finds the rows that the ORM would write now, so that a prepared statement can write them. The ORM keeps it until `em.clear()`. */
export function unwrittenRows(em: EntityManager): UnwrittenRows {
  const unit = em.getUnitOfWork();
  unit.computeChangeSets();
  const all = unit.getChangeSets();
  const rowsOf = <Row extends object>(entity: EntityName<Row>, type: ChangeSetType) => {
    const { uniqueName } = em.getMetadata(entity);
    return all.filter((each) => each.meta.uniqueName === uniqueName && each.type === type);
  };
  return {
    count: all.length,
    createdOf: <Row extends object>(entity: EntityName<Row>) =>
      rowsOf(entity, ChangeSetType.CREATE).map((each) => each.entity as Row),
    changedOf: (entity, properties) =>
      rowsOf(entity, ChangeSetType.UPDATE)
        .filter(({ payload }) => Object.keys(payload).every((name) => properties.has(name as never)))
        .map((each) => each.entity as never),
  };
}
