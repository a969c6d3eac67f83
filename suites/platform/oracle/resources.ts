/** Compares each resource that an answer shows with what is known of that record, wherever it stands in the answer. */

import { deployment as deploymentShape } from '../../../harness/contract/device-api.ts';
import { inVersion, type Resource, type ResourceKind } from '../../../harness/contract/platform/operation.ts';
import { RESOURCES } from '../../../harness/contract/platform/operations.ts';
import { isIso8601 } from '../../../harness/contract/shape.ts';
import { isPlatformVersion, NEWEST_VERSION, type SupportedVersion } from '../../../harness/contract/versions.ts';
import { holds, isSame } from '../../../harness/runner/explore/same.ts';
import { mergedStatus } from '../support/create.ts';
import { type Exchange, expansionsOf, type Seen, seenIn } from './exchange.ts';
import type { Found } from './found.ts';
import { HOLDINGS, NAMED_BY } from './kinds.ts';
import { fieldsOf, isObject, type KnownRecord, knows, type Model, type Shown } from './model.ts';

/** Where in an answer a resource stands. */
interface Place {
  kind: ResourceKind;
  /** JSON Pointer without places in arrays. */
  path: string;
  /** The same for all resources that one kind of answer shows: `list`, `device.current_release in a list`. */
  name: string;
  /** What is expanded below it, from here on. */
  expand: readonly string[];
  /** The id that was asked for. */
  due?: string | undefined;
}

/** A resource that was read, written, or is an item of a list, with all that is expanded in it. */
export function judgeResource(model: Model, exchange: Exchange, shown: unknown, place: Place): Found[] {
  const version = isPlatformVersion(exchange.version) ? (exchange.version as SupportedVersion) : NEWEST_VERSION;
  return new Judging(model, exchange, version).resource(shown, place);
}

export const placeOf = ({ operation }: Exchange): 'list' | 'read' | 'write' =>
  operation.list === true ? 'list' : operation.method === 'GET' ? 'read' : 'write';

export const askedExpansions = (exchange: Exchange): string[] =>
  expansionsOf(exchange).filter((name) => name !== 'total_count' && name !== '');

class Judging {
  readonly #model: Model;
  readonly #exchange: Exchange;
  readonly #version: SupportedVersion;
  readonly #seen: Seen;

  constructor(model: Model, exchange: Exchange, version: SupportedVersion) {
    this.#model = model;
    this.#exchange = exchange;
    this.#version = version;
    this.#seen = seenIn(exchange);
  }

  resource(shown: unknown, place: Place): Found[] {
    const { kind, path, due } = place;
    if (!isObject(shown) || typeof shown['id'] !== 'string')
      return [this.#found('shape', place, { expected: `a ${kind} with an id`, actual: shown })];
    const item = shown as Shown;
    if (due !== undefined && item.id !== due)
      return [this.#found('value', place, { member: 'id', expected: `id ${due}`, actual: item.id, certain: true })];
    const record = this.#model.record(item.id, kind);
    const found = [
      ...this.#object(item, place),
      ...this.#own(item, place),
      ...this.#members(item, record, place),
      ...this.#presence(item, record, place),
      ...this.#older(item, record, place),
      ...this.#forward(item, record, place),
      ...this.#expansions(item, record, place),
    ];
    return found.map((each) => ({ ...each, id: item.id, path: each.path === '' ? path : each.path }));
  }

  #found(
    what: Found['what'],
    { kind, path }: Place,
    about: Pick<Found, 'expected' | 'actual'> & Partial<Found>,
  ): Found {
    const { member } = about;
    return {
      ...{ what, exchange: this.#exchange, kind, certain: false },
      path: member === undefined ? path : `${path}/${member}`,
      ...about,
    };
  }

  /** Section 2: `object` names the type; which word it is, is learned. */
  #object({ object }: Shown, place: Place): Found[] {
    const known = this.#model.objects.get(place.kind);
    if (known === undefined) {
      const like = [...this.#model.objects].find(([kind, { value }]) => kind !== place.kind && value === object);
      this.#model.objects.set(place.kind, { value: object, seen: this.#seen });
      const collection = RESOURCES[place.kind].collection;
      const isWrong = like !== undefined || (place.kind === 'deployment' && object !== 'deployment');
      if (!isWrong && object !== collection) return [];
      const expected = `an object that names the type, unlike that of ${like?.[0] ?? `the list ${collection}`}`;
      const what = isWrong ? 'value' : 'plural';
      return [this.#found(what, place, { member: 'object', expected, actual: object, certain: true })];
    }
    if (known.value === object) return [];
    const expected = `object ${JSON.stringify(known.value)}, as of each ${place.kind}`;
    const about = { member: 'object', expected, actual: object, earlier: known.seen, certain: true };
    return [this.#found('value', place, about)];
  }

  /** What one resource shows to be wrong by itself. */
  #own(item: Shown, place: Place): Found[] {
    const found: Found[] = [];
    const tell = (what: Found['what'], member: string, expected: string, actual: unknown): void =>
      void found.push(this.#found(what, place, { member, expected, actual, certain: true }));
    for (const [name, value] of Object.entries(item)) {
      const isTime = name.endsWith('_at') && fieldsOf(place.kind, NEWEST_VERSION)[name] !== undefined;
      if (isTime && value !== null && !(typeof value === 'string' && isIso8601(value)))
        tell('timestamp', name, 'an ISO 8601 date-time', value);
      if (FOREIGN[`${place.kind}.${name}`] === value && !knows(place.kind, name, this.#version, value))
        tell('foreign', name, `no ${name} ${value} in ${this.#version}`, value);
    }
    if (place.kind !== 'deployment') return found;
    const { status, activity_status: activity, error_status: error } = item;
    if (
      status !== undefined &&
      activity !== undefined &&
      error !== undefined &&
      status !== mergedStatus(activity, error)
    )
      tell('merge', 'status', `status ${mergedStatus(activity, error)} with ${activity} and ${error}`, status);
    for (const { path, message } of deploymentShape.problems(item))
      if (message.startsWith('lacks ')) tell('incomplete', '', `a deployment as in section 2.1: it ${message}`, item);
      else if (!path.endsWith('_at')) tell('shape', path.slice(1), message, item[path.slice(1)]);
    if (error === 'failed' && !['removing', 'archived'].includes(String(activity)))
      tell('failed', 'activity_status', 'archived or removing, as it has failed', activity);
    return found;
  }

  #members(item: Shown, record: KnownRecord, place: Place): Found[] {
    const found: Found[] = [];
    for (const [name, value] of Object.entries(item)) {
      const holding = HOLDINGS[place.kind].get(name);
      if (holding === undefined || name === 'object' || name === 'id') continue;
      if (name in RESOURCES[place.kind].expansions) continue;
      found.push(...this.#member(record, place, name, value));
    }
    return found;
  }

  #member(record: KnownRecord, place: Place, name: string, value: unknown): Found[] {
    const { kind } = place;
    const known = record.members.get(name);
    this.#model.values += 1;
    if (known === undefined) {
      this.#learn(record, name, value);
      return [];
    }
    // What an older version shows in place of a value that it does not know is open.
    if (!knows(kind, name, this.#version, known.value) || isOpenIn(this.#version, kind, record)(name)) return [];
    if (isSame(known.value, value)) return [];
    if (known.predicted === true && holds(known.value, value)) {
      record.members.set(name, { ...known, value });
      return [];
    }
    const from = known.predicted === true ? 'as it was written' : 'as it was shown before';
    return [
      this.#found('value', place, {
        ...{ member: name, id: record.id, earlier: known.seen, actual: value },
        expected: `${name} ${JSON.stringify(known.value)} of ${record.id}, ${from}`,
        certain: kind === 'deployment' && NEVER.has(name) && known.predicted !== true,
      }),
    ];
  }

  #learn(record: KnownRecord, name: string, value: unknown): void {
    // An older version may show another word for a status that it does not know.
    const isNewest = this.#version === NEWEST_VERSION;
    if (!isNewest && VERSIONED.has(name)) return;
    record.members.set(name, { value, seen: this.#seen, ask: this.#exchange });
  }

  /** Members that a later version brought, and those that it did away with (section 9). */
  #older(item: Shown, record: KnownRecord, place: Place): Found[] {
    const documented = fieldsOf(place.kind, this.#version);
    const found = Object.keys(fieldsOf(place.kind, NEWEST_VERSION)).flatMap((member) => {
      if (member in documented || (item[member] ?? null) === null) return [];
      const about = { member, expected: `no ${member} in ${this.#version}`, actual: item[member], certain: true };
      return [this.#found('unasked', place, about)];
    });
    for (const member of ['instance_slots', 'instance_filepath']) {
      if (!(member in documented) || place.name !== 'read' || item[member] !== undefined) continue;
      if (record.members.get(member)?.predicted !== true) continue;
      const about = { member, expected: `${member} in ${this.#version}`, actual: item };
      found.push(this.#found('lacking', place, about));
    }
    return found;
  }

  /** Section 2.2: an archived deployment is kept for history, one that was deployed is not ready to be deployed. */
  #forward(item: Shown, record: KnownRecord, place: Place): Found[] {
    if (place.kind !== 'deployment' || this.#version !== NEWEST_VERSION) return [];
    return Object.entries(RANKS).flatMap(([member, ranks]) => {
      const rank = ranks[String(item[member])];
      const before = record.reached.get(member) ?? -1;
      if (rank === undefined) return [];
      record.reached.set(member, Math.max(rank, before));
      if (rank >= before || !record.isOurs) return [];
      const expected = `${member} only to move forward: ${Object.keys(ranks).join(' → ')}`;
      return [this.#found('backwards', place, { member, expected, actual: item[member] })];
    });
  }

  /** A documented member that answers of the same kind show, in whichever version that has it. */
  #presence(item: Shown, record: KnownRecord, place: Place): Found[] {
    const documented = Object.keys(fieldsOf(place.kind, this.#version));
    return documented.flatMap((name) => {
      const key = `${place.kind} ${place.name} ${name}`;
      const known = this.#model.presence.get(key) ?? { shown: new Map(), lacking: new Map() };
      this.#model.presence.set(key, known);
      const isThere = item[name] !== undefined;
      const mayBeNull = (record.members.get(name)?.value ?? null) === null;
      // A platform may omit what is null.
      if (!isThere && mayBeNull) return [];
      const [own, other] = isThere ? [known.shown, known.lacking] : [known.lacking, known.shown];
      if (!own.has(this.#version)) own.set(this.#version, this.#seen);
      const [contrary] = other.entries();
      if (contrary === undefined || item[name] === null) return [];
      other.clear();
      const [version, earlier] = contrary;
      const words = { expected: `${name}, which is shown in ${version}`, actual: `no ${name} in ${this.#version}` };
      const turned = { expected: `${name} in ${version}, as in ${this.#version}`, actual: `no ${name} in ${version}` };
      return [this.#found('lacking', place, { member: name, earlier, certain: true, ...(isThere ? turned : words) })];
    });
  }

  #expansions(item: Shown, record: KnownRecord, place: Place): Found[] {
    const { expansions } = RESOURCES[place.kind];
    return Object.entries(expansions).flatMap(([name, expansion]) => {
      if (HOLDINGS[place.kind].get(name) === undefined && NAMED_BY[name] === undefined) return [];
      const below = place.expand.filter((each) => each === name || each.startsWith(`${name}.`));
      if (below.length === 0 || !inVersion(expansion, this.#version)) return this.#unasked(item, place, name);
      const nested = below.flatMap((each) => (each === name ? [] : [each.slice(name.length + 1)]));
      return this.#expanded(item, record, place, { name, expansion, nested });
    });
  }

  /** What nobody asked to be expanded is omitted; a platform that always shows one shows it everywhere. */
  #unasked(item: Shown, place: Place, name: string): Found[] {
    const value = item[name];
    if (value === null || fieldsOf(place.kind, this.#version)[name] !== undefined) return [];
    const asked = `unasked ${place.kind}.${name}`;
    const answer = value === undefined ? 'omitted' : 'shown';
    const earlier = CURRENT.test(name) ? NO_CURRENT : this.#model.adoptions.take(asked, answer, this.#seen);
    if (earlier === undefined && value !== undefined && RESOURCES[place.kind].expansions[name]?.kind === undefined)
      return this.#member(this.#model.record(item.id, place.kind), place, name, sorted(value));
    if (earlier === undefined || earlier.answer === answer) return [];
    if (answer === 'omitted') this.#model.adoptions.replace(asked, answer, this.#seen);
    const expected = `no ${name}, which nobody asked to be expanded`;
    const about = { member: name, expected, actual: value ?? `${name} earlier`, earlier: earlier.seen, certain: true };
    return [this.#found('unasked', place, about)];
  }

  #expanded(
    item: Shown,
    record: KnownRecord,
    place: Place,
    { name, expansion, nested }: { name: string; expansion: Resource['expansions'][string]; nested: string[] },
  ): Found[] {
    const value = item[name];
    const due = item[NAMED_BY[name] ?? ''] ?? record.members.get(name)?.value;
    const isDue = due !== undefined && due !== null;
    const found: Found[] = [];
    if (place.kind === 'device' && CURRENT.test(name)) found.push(...this.#current(item, place, name));
    if (isDue || (value !== undefined && value !== null)) {
      const answer = value === undefined || value === null ? 'nothing' : 'what it names';
      found.push(...this.#served(place, name, answer));
    }
    if (value === undefined || value === null) {
      if (value === null && isDue && NAMED_BY[name] !== undefined)
        found.push(this.#found('expansion', place, { member: name, expected: `${name} ${due}`, actual: null }));
      return found;
    }
    const inner = { path: `${place.path}/${name}`, name: `${place.kind}.${name} in a ${place.name}`, expand: nested };
    const { kind } = expansion;
    if (kind === undefined) return [...found, ...this.#member(record, place, name, sorted(value))];
    if (expansion.many !== true) {
      const named = NAMED_BY[name] === undefined ? undefined : due;
      if (named === undefined && isObject(value)) found.push(...this.#member(record, place, name, value['id']));
      if (named === null)
        return [...found, this.#found('expansion', place, { member: name, expected: 'null', actual: value })];
      return [...found, ...this.resource(value, { ...inner, kind, due: named as string | undefined })];
    }
    if (!Array.isArray(value))
      return [
        ...found,
        this.#found('shape', place, { member: name, expected: 'an array', actual: value, certain: true }),
      ];
    const ids = value.map((each: unknown) => (isObject(each) ? each['id'] : each)).sort();
    return [
      ...found,
      ...this.#member(record, place, name, ids),
      ...value.flatMap((each) => this.resource(each, { ...inner, kind, path: `${inner.path}/-` })),
    ];
  }

  /** Section 9. Whether lists expand it is not shown. */
  #current(item: Shown, place: Place, member: string): Found[] {
    const value = item[member];
    const deployed = this.#model.of('deployment').find(({ members }) => {
      const is = (name: string, due: string): boolean => members.get(name)?.value === due;
      return is('device_id', item.id) && is('activity_status', 'deployed') && is('target_status', 'deployed');
    });
    const has = deployed?.members.get('error_status')?.value === 'none';
    if (!isObject(value)) {
      if (!has || place.name !== 'read' || formOf(this.#exchange) !== 'alone') return [];
      const expected = `${member}, as ${deployed.id} is deployed on that device`;
      return [this.#found('expansion', place, { member, expected, actual: value ?? 'nothing' })];
    }
    const activity = String(value['activity_status']);
    const release = item['current_release'];
    const other = isObject(release) && member === 'current_deployment' && release['id'] !== value['release_id'];
    if (!other && (member !== 'current_deployment' || !['archived', 'staged'].includes(activity))) return [];
    const expected = 'a deployment that is active on the device, and its release';
    return [this.#found('inactive', place, { member, expected, actual: other ? release['id'] : activity })];
  }

  /** Whether it is served this way is learned, but holds in each version and for each record. */
  #served(place: Place, name: string, answer: string): Found[] {
    const form = formOf(this.#exchange);
    if (!this.#model.forms.has(form)) return [];
    const way = place.expand.includes(name) ? 'by its name' : 'as a part of a nested one';
    const asked = `${place.kind}.${name} in a ${place.name}, ${way}`;
    const earlier = this.#model.adoptions.take(asked, answer, this.#seen);
    if (earlier === undefined) return [];
    const wasShown = earlier.answer !== 'nothing';
    const expected = wasShown
      ? `${name} to be expanded, as it is in other answers`
      : `${name} to be expanded there too, as it is here`;
    this.#model.adoptions.replace(asked, 'what it names', this.#seen);
    const actual = wasShown ? `no ${name}` : `no ${name} earlier`;
    return [this.#found('expansion', place, { member: name, expected, actual, earlier: earlier.seen, certain: true })];
  }
}

/** How several expansions are written: a platform may know one way and not another. */
export function formOf({ query }: Pick<Exchange, 'query'>): string {
  const asked = query.filter(([name]) => name === 'expand' || name === 'expand[]');
  if (asked.some(([name]) => name === 'expand[]')) return 'bracketed';
  if (asked.some(([, value]) => value.includes(','))) return 'with commas';
  return asked.length > 1 ? 'repeated' : 'alone';
}

const sorted = (value: unknown): unknown =>
  Array.isArray(value) ? value.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)) : value;

/** Section 9: devices expand these via `expand`. */
const CURRENT = /^current_/;
const NO_CURRENT = { answer: 'omitted', seen: undefined };

/** Section 9: values that older versions do not have. */
const FOREIGN: Readonly<Record<string, string>> = {
  'deployment.activity_status': 'removing',
  'deployment.status': 'removing',
  'device.status': 'archived',
};

/** A staged deployment may drift, and nobody says whether it can be staged again. */
const RANKS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  target_status: { staged: 0, deployed: 1, archived: 2 },
  activity_status: { staged: 0, drifted: 0, queued: 1, deployed: 2, removing: 3, archived: 4 },
};

/** Section 2.1: what a deployment has from its creation on. */
const NEVER: ReadonlySet<string> = new Set(['device_id', 'release_id', 'created_at']);

/** Members for which an older version may show another value. */
const VERSIONED: ReadonlySet<string> = new Set([
  'status',
  'activity_status',
  'instance_filepath',
  'language',
  'format',
]);

/** What an older version makes of a status that it does not know reaches the merged one. */
function isOpenIn(version: SupportedVersion, kind: ResourceKind, record: KnownRecord): (name: string) => boolean {
  const activity = record.members.get('activity_status')?.value;
  const isOpen = kind === 'deployment' && !knows(kind, 'activity_status', version, activity);
  return (name) => isOpen && (name === 'status' || name === 'activity_status');
}
