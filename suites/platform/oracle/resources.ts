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
import { Judgement } from './judgement.ts';
import { HOLDINGS, NAMED_BY } from './kinds.ts';
import { fieldsOf, isObject, type KnownRecord, knows, type Model, type Shown } from './model.ts';
import { judgeMoments } from './moments.ts';

/** Place of a resource in an answer. */
interface Place {
  kind: ResourceKind;
  /** JSON Pointer without places in arrays. */
  path: string;
  /** The same for all resources that one kind of answer shows: `list`, `device.current_release in a list`. */
  name: string;
  /** Expansions below it, from here on. */
  expand: readonly string[];
  /** The id that was asked for. */
  due?: string | undefined;
}

/** A resource that was read, written, or is an item of a list, with all that is expanded in it. */
export function judgeResource(model: Model, exchange: Exchange, shown: unknown, place: Place): Found[] {
  const version = isPlatformVersion(exchange.version) ? (exchange.version as SupportedVersion) : NEWEST_VERSION;
  const judging = new Judging(model, exchange, version);
  judging.resource(shown, place);
  return judging.found;
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
  readonly #judgement: Judgement;
  /** The record that is judged. */
  #id = '';

  constructor(model: Model, exchange: Exchange, version: SupportedVersion) {
    this.#model = model;
    this.#exchange = exchange;
    this.#version = version;
    this.#seen = seenIn(exchange);
    this.#judgement = new Judgement(model, exchange);
  }

  get found(): Found[] {
    return this.#judgement.found;
  }

  resource(shown: unknown, place: Place): void {
    const { kind, due } = place;
    const isWhole = isObject(shown) && typeof shown['id'] === 'string';
    this.#hold(isWhole, 'shape', place, undefined, () => ({ expected: `a ${kind} with an id`, actual: shown }), {
      certain: false,
    });
    if (!isWhole) return;
    const item = shown as Shown;
    if (due !== undefined) {
      this.#hold(item.id === due, 'value', place, 'id', () => ({ expected: `id ${due}`, actual: item.id }));
      if (item.id !== due) return;
    }
    const outer = this.#id;
    this.#id = item.id;
    const record = this.#model.record(item.id, kind);
    this.#object(item, place);
    this.#own(item, place);
    if (kind === 'deployment') this.#deployment(item, place);
    for (const [name, value] of Object.entries(item)) {
      const isHeld = HOLDINGS[kind].has(name) && name !== 'object' && name !== 'id';
      if (isHeld && !(name in RESOURCES[kind].expansions)) this.#member(record, place, name, value);
    }
    this.#presence(item, record, place);
    this.#older(item, record, place);
    if (kind === 'deployment') this.#forward(item, record, place);
    for (const name of Object.keys(RESOURCES[kind].expansions)) this.#expansion(item, record, place, name);
    this.#id = outer;
  }

  #hold(
    isSo: boolean,
    what: Found['what'],
    { kind, path }: Place,
    member: string | undefined,
    words: () => Pick<Found, 'expected' | 'actual'>,
    more: Partial<Pick<Found, 'certain' | 'earlier' | 'isWritten' | 'path' | 'restsOn'>> = {},
  ): void {
    const about = {
      what,
      kind,
      path: member === undefined ? path : `${path}/${member}`,
      member,
      id: this.#id,
      ...more,
    };
    this.#judgement.hold(isSo, about, words);
  }

  /** Section 2: `object` names the type; which word it is, is learned. */
  #object({ object }: Shown, place: Place): void {
    const { kind } = place;
    const known = this.#model.objects.get(kind);
    if (known !== undefined) {
      const expected = `object ${JSON.stringify(known.value)}, as of each ${kind}`;
      const more = { earlier: known.seen };
      this.#hold(known.value === object, 'value', place, 'object', () => ({ expected, actual: object }), more);
      return;
    }
    const like = [...this.#model.objects].find(([other, { value }]) => other !== kind && value === object);
    this.#model.objects.set(kind, { value: object, seen: this.#seen });
    const { collection } = RESOURCES[kind];
    const isRight = like === undefined && (kind !== 'deployment' || object === 'deployment');
    const expected = `an object that names the type, unlike that of ${like?.[0] ?? `the list ${collection}`}`;
    this.#hold(isRight, 'value', place, 'object', () => ({ expected, actual: object }));
    if (isRight) this.#hold(object !== collection, 'plural', place, 'object', () => ({ expected, actual: object }));
  }

  /** Judges one resource by itself. */
  #own(item: Shown, place: Place): void {
    const newest = fieldsOf(place.kind, NEWEST_VERSION);
    for (const [name, value] of Object.entries(item)) {
      if (name.endsWith('_at') && newest[name] !== undefined && value !== null)
        this.#hold(typeof value === 'string' && isIso8601(value), 'timestamp', place, name, () => ({
          ...{ expected: 'an ISO 8601 date-time', actual: value },
        }));
      const foreign = FOREIGN[`${place.kind}.${name}`];
      if (foreign !== undefined && !knows(place.kind, name, this.#version, foreign))
        this.#hold(value !== foreign, 'foreign', place, name, () => ({
          ...{ expected: `no ${name} ${foreign} in ${this.#version}`, actual: value },
        }));
    }
  }

  /** Sections 2.1 and 2.2. */
  #deployment(item: Shown, place: Place): void {
    const { status, activity_status: activity, error_status: error } = item;
    if (status !== undefined && activity !== undefined && error !== undefined)
      this.#hold(status === mergedStatus(activity, error), 'merge', place, 'status', () => ({
        ...{ expected: `status ${mergedStatus(activity, error)} with ${activity} and ${error}`, actual: status },
      }));
    const problems = deploymentShape.problems(item);
    const lacking = problems.find(({ message }) => message.startsWith('lacks '));
    this.#hold(lacking === undefined, 'incomplete', place, undefined, () => ({
      ...{ expected: `a deployment as in section 2.1: it ${lacking?.message}`, actual: item },
    }));
    for (const name of Object.keys(item)) {
      const problem = name.endsWith('_at') ? undefined : problems.find(({ path }) => path === `/${name}`);
      this.#hold(problem === undefined, 'shape', place, name, () => ({
        ...{ expected: problem?.message ?? '', actual: item[name] },
      }));
    }
    if ('queued_at' in fieldsOf('deployment', this.#version))
      judgeMoments(item, this.#model.record(item.id, 'deployment'), (isSo, isStrict, expected) => {
        const words = () => ({ expected, actual: item });
        this.#hold(isSo, isStrict ? 'moment' : 'odd-moment', place, undefined, words, { certain: false });
      });
    if (error === 'failed')
      this.#hold(['removing', 'archived'].includes(String(activity)), 'failed', place, 'activity_status', () => ({
        ...{ expected: 'archived or removing, as it has failed', actual: activity },
      }));
  }

  #member(record: KnownRecord, place: Place, name: string, value: unknown): void {
    const { kind } = place;
    const known = record.members.get(name);
    if (known === undefined) {
      // An older version may show another word for a status that it does not know.
      if (this.#version === NEWEST_VERSION || !VERSIONED.has(name))
        record.members.set(name, { value, seen: this.#seen, ask: this.#exchange });
      return;
    }
    // An older version may show anything in place of a value that it does not know.
    if (!knows(kind, name, this.#version, known.value) || isOpenIn(this.#version, kind, record)(name)) return;
    const isWritten = known.predicted === true;
    const isSo = isSame(known.value, value) || (isWritten && holds(known.value, value));
    const { format } = isObject(known.value) ? known.value : {};
    const about = {
      isWritten,
      earlier: known.seen,
      certain: kind === 'deployment' && NEVER.has(name) && !isWritten,
      ...(name === 'content' && typeof format === 'string' && { path: `${place.path}/content in ${format}` }),
    };
    const from = isWritten ? 'as it was written' : 'as it was shown before';
    this.#hold(
      isSo,
      'value',
      place,
      name,
      () => ({
        ...{ expected: `${name} ${JSON.stringify(known.value)} of ${record.id}, ${from}`, actual: value },
      }),
      about,
    );
    if (isSo && isWritten) record.members.set(name, { ...known, value });
  }

  /** Members that a later version brought, and those that it did away with (section 9). */
  #older(item: Shown, record: KnownRecord, place: Place): void {
    const documented = fieldsOf(place.kind, this.#version);
    for (const member of Object.keys(fieldsOf(place.kind, NEWEST_VERSION)))
      if (!(member in documented))
        this.#hold((item[member] ?? null) === null, 'unasked', place, member, () => ({
          ...{ expected: `no ${member} in ${this.#version}`, actual: item[member] },
        }));
    if (place.name !== 'read') return;
    for (const member of ['instance_slots', 'instance_filepath'])
      if (member in documented && record.members.get(member)?.predicted === true)
        this.#hold(
          item[member] !== undefined,
          'lacking',
          place,
          member,
          () => ({
            ...{ expected: `${member} in ${this.#version}`, actual: item },
          }),
          { certain: false },
        );
  }

  /** Section 2.2: an archived deployment is kept for history, one that was deployed is not ready to be deployed. */
  #forward(item: Shown, record: KnownRecord, place: Place): void {
    if (this.#version !== NEWEST_VERSION) return;
    record.mayBeDeployed ||= item['target_status'] === 'deployed';
    for (const [member, ranks] of Object.entries(RANKS)) {
      const rank = ranks[String(item[member])];
      if (rank === undefined) continue;
      const before = record.reached.get(member);
      record.reached.set(member, Math.max(rank, before ?? rank));
      if (before === undefined || !record.isOurs) continue;
      this.#hold(
        rank >= before,
        'backwards',
        place,
        member,
        () => ({
          expected: `${member} only to move forward: ${Object.keys(ranks).join(' → ')}`,
          actual: item[member],
        }),
        { certain: false },
      );
    }
  }

  /** A documented member that answers of the same kind show, in whichever version that has it. */
  #presence(item: Shown, record: KnownRecord, place: Place): void {
    for (const name of Object.keys(fieldsOf(place.kind, this.#version))) {
      const key = `${place.kind} ${place.name} ${name}`;
      const known = this.#model.presence.get(key) ?? { shown: new Map(), lacking: new Map() };
      this.#model.presence.set(key, known);
      const isThere = item[name] !== undefined;
      // A platform may omit what is null.
      if (item[name] === null || (!isThere && (record.members.get(name)?.value ?? null) === null)) continue;
      const [own, other] = isThere ? [known.shown, known.lacking] : [known.lacking, known.shown];
      if (!own.has(this.#version)) own.set(this.#version, this.#seen);
      const [contrary] = other.entries();
      const [version, earlier] = contrary ?? [];
      const [where, lacks] = isThere ? [this.#version, version] : [version, this.#version];
      this.#hold(
        contrary === undefined,
        'lacking',
        place,
        name,
        () => ({
          ...{ expected: `${name} in ${lacks}, as in ${where}`, actual: `no ${name} in ${lacks}` },
        }),
        { earlier },
      );
      other.clear();
    }
  }

  #expansion(item: Shown, record: KnownRecord, place: Place, name: string): void {
    const expansion = RESOURCES[place.kind].expansions[name];
    if (expansion === undefined || (!HOLDINGS[place.kind].has(name) && NAMED_BY[name] === undefined)) return;
    const below = place.expand.filter((each) => each === name || each.startsWith(`${name}.`));
    const nested = below.flatMap((each) => (each === name ? [] : [each.slice(name.length + 1)]));
    if (below.length === 0 || !inVersion(expansion, this.#version)) this.#unasked(item, place, name);
    else this.#expanded(item, record, place, { name, expansion, nested });
  }

  /** Expects no expansion unasked, or everywhere on a platform that always shows it. */
  #unasked(item: Shown, place: Place, name: string): void {
    const value = item[name];
    if (value === null || fieldsOf(place.kind, this.#version)[name] !== undefined) return;
    const asked = `unasked ${place.kind}.${name}`;
    const answer = value === undefined ? 'omitted' : 'shown';
    const earlier = CURRENT.test(name) ? NO_CURRENT : this.#model.adoptions.take(asked, answer, this.#seen);
    if (earlier === undefined && value !== undefined && RESOURCES[place.kind].expansions[name]?.kind === undefined)
      this.#member(this.#model.record(item.id, place.kind), place, name, sorted(value));
    const isSo = earlier === undefined || earlier.answer === answer;
    if (!isSo && answer === 'omitted') this.#model.adoptions.replace(asked, answer, this.#seen);
    this.#hold(
      isSo,
      'unasked',
      place,
      name,
      () => ({
        ...{ expected: `no ${name}, which nobody asked to be expanded`, actual: value ?? `${name} earlier` },
      }),
      { earlier: earlier?.seen },
    );
  }

  #expanded(item: Shown, record: KnownRecord, place: Place, { name, expansion, nested }: Expanded): void {
    const value = item[name] ?? undefined;
    const names = NAMED_BY[name];
    const due = item[names ?? ''] ?? record.members.get(name)?.value ?? undefined;
    if (place.kind === 'device' && CURRENT.test(name)) this.#current(item, place, name);
    if (due !== undefined || value !== undefined) this.#served(place, name, value !== undefined);
    if (value === undefined) {
      if (names !== undefined && item[name] === null)
        this.#hold(due === undefined, 'expansion', place, name, () => ({ expected: `${name} ${due}`, actual: null }), {
          certain: false,
        });
      return;
    }
    const inner = { path: `${place.path}/${name}`, name: `${place.kind}.${name} in a ${place.name}`, expand: nested };
    const { kind } = expansion;
    if (kind === undefined) this.#member(record, place, name, sorted(value));
    else if (expansion.many === true) {
      this.#hold(Array.isArray(value), 'shape', place, name, () => ({ expected: 'an array', actual: value }));
      if (!Array.isArray(value)) return;
      const ids = value.map((each: unknown) => (isObject(each) ? each['id'] : each)).sort();
      this.#member(record, place, name, ids);
      for (const each of value) this.resource(each, { ...inner, kind, path: `${inner.path}/-` });
    } else if (names === undefined) {
      if (isObject(value)) this.#member(record, place, name, value['id']);
      this.resource(value, { ...inner, kind });
    } else if (item[names] === null)
      this.#hold(false, 'expansion', place, name, () => ({ expected: 'null', actual: value }), { certain: false });
    else this.resource(value, { ...inner, kind, due: due as string | undefined });
  }

  /** Section 9. Whether lists expand it is not shown. */
  #current(item: Shown, place: Place, member: string): void {
    const value = item[member];
    const deployed = this.#model.of('deployment').find(({ members }) => {
      const is = (name: string, due: string): boolean => members.get(name)?.value === due;
      return is('device_id', item.id) && is('activity_status', 'deployed') && is('target_status', 'deployed');
    });
    const has = deployed?.members.get('error_status')?.value === 'none';
    const isAsked = place.expand.includes(member) && formOf(this.#exchange) === 'alone';
    if (has && isAsked && place.name === 'read')
      this.#hold(
        isObject(value),
        'expansion',
        place,
        member,
        () => ({
          expected: `${member}, as ${deployed?.id} is deployed on that device`,
          actual: value ?? 'nothing',
        }),
        { certain: false, restsOn: deployed?.id },
      );
    if (!isObject(value) || member !== 'current_deployment') return;
    const release = item['current_release'];
    const isOther = isObject(release) && release['id'] !== value['release_id'];
    const activity = String(value['activity_status']);
    this.#hold(
      !isOther && !['archived', 'staged'].includes(activity),
      'inactive',
      place,
      member,
      () => ({
        expected: 'a deployment that is active on the device, and its release',
        actual: isOther ? release['id'] : activity,
      }),
      { certain: false },
    );
  }

  /** Whether it is served this way is learned, but holds in each version and for each record. */
  #served(place: Place, name: string, isShown: boolean): void {
    const form = formOf(this.#exchange);
    if (!this.#model.forms.has(form)) return;
    const way = place.expand.includes(name) ? 'by its name' : 'as a part of a nested one';
    const asked = `${place.kind}.${name} in a ${place.name}, ${way}`;
    const earlier = this.#model.adoptions.take(asked, isShown ? 'shown' : 'absent', this.#seen);
    if (earlier !== undefined) this.#model.adoptions.replace(asked, 'shown', this.#seen);
    this.#hold(
      earlier === undefined,
      'expansion',
      place,
      name,
      () => ({
        expected: `${name} to be expanded ${isShown ? 'there too, as it is here' : 'as it is in other answers'}`,
        actual: `no ${name}${isShown ? ' earlier' : ''}`,
      }),
      { earlier: earlier?.seen },
    );
  }
}

interface Expanded {
  name: string;
  expansion: Resource['expansions'][string];
  /** Expansions below it. */
  nested: readonly string[];
}

/** Way in which several expansions are written: a platform may know one and not another. */
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

/** Leaves a status and the merged one open in versions that do not know it. */
function isOpenIn(version: SupportedVersion, kind: ResourceKind, record: KnownRecord): (name: string) => boolean {
  const activity = record.members.get('activity_status')?.value;
  const isOpen = kind === 'deployment' && !knows(kind, 'activity_status', version, activity);
  return (name) => isOpen && (name === 'status' || name === 'activity_status');
}
