/** Section 4.2 and conventions of JSON: accepted bodies with one value replaced by a wrong value. */
import { ok, refused } from '../support/requests.ts';
import { type Explorer, operation } from './explorer.ts';
import { UNKNOWN } from './refusals.ts';
import { AT_ONCE, type World } from './world.ts';

type FieldPath = readonly string[];

const OTHERS: Readonly<Record<string, readonly unknown[]>> = {
  string: [null, 7, ['unheard'], {}],
  number: [null, 'unheard', []],
  boolean: [null, 'unheard', []],
  null: [7, true, [], {}],
  array: [null, 'unheard', {}, [null], [7]],
  object: [null, 'unheard', []],
};
const typeOf = (value: unknown): string => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value);

/** The exploration sends one in eight wrong bodies to a slow platform. */
const ONE_OF_WHERE_SLOW = 8;

export async function wrongFields(ex: Explorer, { writes }: World): Promise<void> {
  const wrong = [...writes.bodies].flatMap(([id, body]) =>
    placesIn(body).flatMap(({ place, value }) =>
      (OTHERS[typeOf(value)] ?? []).map((other) => ({ id, body, place, other })),
    ),
  );
  const asked = wrong.filter((_, index) => !ex.t.session.isSlow('answer') || index % ONE_OF_WHERE_SLOW === 0);
  if (asked.length < wrong.length)
    ex.notes.push(`answers are slow: ${asked.length} of ${wrong.length} bodies were tried`);
  for (let at = 0; at < asked.length && !ex.budget.isLate; at += AT_ONCE)
    await Promise.all(
      asked.slice(at, at + AT_ONCE).map(({ id, body, place, other }) => {
        const asking = { operation: operation(id), version: ex.newest, key: 'full', ids: [], query: [] } as const;
        const { kind } = asking.operation;
        const given = { ...asking, body: put(writes.renewed(body), place, other) };
        return kind === undefined ? ex.look(given) : ex.write(given, kind, {});
      }),
    );
}

export async function unknownReferences(ex: Explorer, { writes }: World): Promise<void> {
  const isId = (value: unknown): value is string => typeof value === 'string' && ex.model.records.has(value);
  const nothing = (id: string): string => `${id.slice(0, id.lastIndexOf('_') + 1)}${UNKNOWN}`;
  for (const [id, body] of writes.bodies)
    for (const { place, value } of placesIn(body)) {
      const ids = Array.isArray(value) ? value.filter(isId) : [];
      const [first] = ids;
      const other = first !== undefined ? [...ids, nothing(first)] : isId(value) ? nothing(value) : undefined;
      if (other === undefined || ex.budget.isLate) continue;
      const asked = { operation: operation(id), version: ex.newest, key: 'full', ids: [], query: [] } as const;
      const exchange = await ex.send({ ...asked, body: put(writes.renewed(body), place, other) });
      const about = { what: 'accepted', path: ' unknown reference' } as const;
      ex.hold(exchange, refused(exchange), about, 'a 4xx to an id that nothing has', exchange.status);
      const { kind } = asked.operation;
      if (ok(exchange) && kind !== undefined) ex.model.list(kind).isStale = true;
    }
}

function placesIn(value: unknown): { place: FieldPath; value: unknown }[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [
    { place: [name], value: inner },
    ...placesIn(inner).map((each) => ({ ...each, place: [name, ...each.place] })),
  ]);
}

function put(value: unknown, [name, ...rest]: FieldPath, other: unknown): unknown {
  if (name === undefined) return other;
  const inner = put((value as Record<string, unknown>)[name], rest, other);
  return Array.isArray(value) ? value.with(Number(name), inner) : { ...(value as object), [name]: inner };
}
