import { isObject } from '../../../harness/common/lenient.ts';
import { deployment as deploymentShape } from '../../../harness/contract/device-api.ts';
import { inVersion, type ResourceKind } from '../../../harness/contract/platform/operation.ts';
import { RESOURCES } from '../../../harness/contract/platform/operations.ts';
import { isIso8601 } from '../../../harness/contract/shape.ts';
import { isPlatformVersion, NEWEST_VERSION, type SupportedVersion } from '../../../harness/contract/versions.ts';
import { containsValue, isSame } from '../../../harness/runner/explore.ts';
import type { Page } from '../support/lists.ts';
import type { Difference, DifferenceKind } from './differences.ts';
import { type Exchange, expansionsOf, notationOf, type Seen, seenIn } from './exchange.ts';
import { HOLDINGS, NAMED_BY, UNCHANGING } from './kinds.ts';
import { judgePage } from './lists.ts';
import {
  fieldsOf,
  isBeyond,
  Judgement,
  type KnownRecord,
  knows,
  type Model,
  type More,
  type Shown,
  UNSURE,
  type Words,
} from './model.ts';
import { judgeMoments } from './moments.ts';

interface Place {
  kind: ResourceKind;
  /** JSON Pointer without array indexes. */
  path: string;
  /** Place that similar answers share, such as `list` or `device.current_release in a list`. */
  name: string;
  expand: readonly string[];
  due?: string | undefined;
}

export function judgeBody(model: Model, exchange: Exchange, kind: ResourceKind): Difference[] {
  const { operation, json, ids } = exchange;
  const version = isPlatformVersion(exchange.version) ? (exchange.version as SupportedVersion) : NEWEST_VERSION;
  const judgement = new Judgement(model, exchange);
  const answer = { model, exchange, version, judgement, seen: seenIn(exchange) };
  const expand = askedExpansions(exchange);
  if (operation.list !== true) {
    const name = operation.method === 'GET' ? 'read' : 'write';
    const due = operation.path.includes('{') ? ids[0] : undefined;
    judgeAt(answer, json, { kind, path: '', name, expand, due });
    return judgement.found;
  }
  const found = judgePage(model, exchange);
  const { data } = Object(json) as Partial<Page>;
  if (!Array.isArray(data)) return found;
  const word = model.wordOf(kind);
  // Skips items of another type in a list below a resource, because the specification shows no such list.
  for (const item of data)
    if (operation.sub !== true || (isObject(item) && item['object'] === word))
      judgeAt(answer, item, { kind, path: '/data/-', name: 'list', expand });
  return [...found, ...judgement.found];
}

export const askedExpansions = (exchange: Exchange): string[] =>
  expansionsOf(exchange).filter((name) => name !== 'total_count' && name !== '');

interface Answer {
  model: Model;
  exchange: Exchange;
  version: SupportedVersion;
  judgement: Judgement;
  seen: Seen;
}

function judgeAt(answer: Answer, shown: unknown, place: Place): void {
  const { kind, path } = place;
  const isWhole = isObject(shown) && typeof shown['id'] === 'string';
  answer.judgement.hold(isWhole, 'shape', path, `a ${kind} with an id`, shown, { kind, certain: false });
  if (isWhole) new OneResource(answer, shown as Shown, place).judge();
}

type Own = More & { path?: string };

class OneResource {
  readonly #answer: Answer;
  readonly #item: Shown;
  readonly #place: Place;
  readonly #kind: ResourceKind;
  readonly #record: KnownRecord;

  constructor(answer: Answer, item: Shown, place: Place) {
    this.#answer = answer;
    this.#item = item;
    this.#place = place;
    this.#kind = place.kind;
    this.#record = answer.model.record(item.id, place.kind);
  }

  judge(): void {
    const { id } = this.#item;
    const { due } = this.#place;
    if (due !== undefined) this.#hold(id === due, 'value', 'id', `id ${due}`, id);
    // Judges no resource expanded in the answer to a write: the write may change it too, and its answer cannot be read
    // again.
    if ((due !== undefined && id !== due) || this.#place.name.endsWith(' in a write')) return;
    const { expansions } = RESOURCES[this.#kind];
    this.#object();
    this.#own();
    if (this.#kind === 'deployment') this.#deployment();
    for (const [name, value] of Object.entries(this.#item))
      if (HOLDINGS[this.#kind].has(name) && !['object', 'id'].includes(name) && !(name in expansions))
        this.#member(name, value);
    this.#presence();
    this.#older();
    if (this.#kind === 'deployment') this.#forward();
    for (const name of Object.keys(expansions)) this.#expansion(name);
  }

  #hold(
    isRight: boolean,
    what: DifferenceKind,
    member: string,
    expected: Words,
    actual: unknown,
    more: Own = {},
  ): void {
    const path = member === '' ? this.#place.path : `${this.#place.path}/${member}`;
    const about = { kind: this.#kind, member, id: this.#item.id, ...more };
    this.#answer.judgement.hold(isRight, what, more.path ?? path, expected, actual, about);
  }

  #fields(version = this.#answer.version) {
    return fieldsOf(this.#kind, version);
  }

  /** Learns the word in `object` for each type (section 2), and then expects it. */
  #object(): void {
    const [kind, { object }, { objects }] = [this.#kind, this.#item, this.#answer.model];
    const known = objects.get(kind);
    if (known !== undefined) {
      const expected = () => `object ${JSON.stringify(known.value)}, as of each ${kind}`;
      this.#hold(known.value === object, 'value', 'object', expected, object, { earlier: known.seen });
      return;
    }
    const like = [...objects].find(([other, { value }]) => other !== kind && value === object);
    // Learns nothing from a write, whose answer may show something else.
    if (this.#place.name !== 'write') objects.set(kind, { value: object, seen: this.#answer.seen });
    const { collection } = RESOURCES[kind];
    const isWord = typeof object === 'string' && object !== '';
    const isRight = isWord && like === undefined && (kind !== 'deployment' || object === 'deployment');
    const expected = `an object that names the type, unlike that of ${like?.[0] ?? `the list ${collection}`}`;
    this.#hold(isRight, 'value', 'object', expected, object);
    if (isRight) this.#hold(object !== collection, 'plural', 'object', expected, object);
  }

  #own(): void {
    const { version } = this.#answer;
    for (const [name, value] of Object.entries(this.#item)) {
      const isTime = typeof value === 'string' && isIso8601(value);
      if (name.endsWith('_at') && this.#fields(NEWEST_VERSION)[name] !== undefined && value !== null)
        this.#hold(isTime, 'timestamp', name, 'an ISO 8601 date-time', value);
      if (name.endsWith('_at') && isTime)
        this.#hold(/(Z|[+-]\d\d(:?\d\d)?)$/i.test(value), 'timestamp', `${name} without a zone`, 'its zone', value);
      const foreign = FOREIGN[`${this.#kind}.${name}`];
      const isThere = value === foreign || this.#record.members.get(name)?.value === foreign;
      if (foreign !== undefined && isThere && !knows(this.#kind, name, version, foreign))
        this.#hold(value !== foreign, 'foreign', name, `no ${name} ${foreign} in ${version}`, value);
    }
  }

  /** Judges sections 2.1 and 2.2. */
  #deployment(): void {
    const item = this.#item;
    const { status, activity_status: activity, error_status: error } = item;
    const merged = error === 'none' ? activity : error;
    if (status !== undefined && activity !== undefined && error !== undefined)
      this.#hold(status === merged, 'merge', 'status', `status ${merged} with ${activity} and ${error}`, status);
    const problems = deploymentShape.problems(item);
    const lacking = problems.find(({ message }) => message.startsWith('lacks '));
    const whole = `a deployment as in section 2.1: it ${lacking?.message}`;
    this.#hold(lacking === undefined, 'incomplete', '', whole, item);
    for (const name of Object.keys(item)) {
      const isTime = name.endsWith('_at') && item[name] !== null;
      const problem = isTime ? undefined : problems.find(({ path }) => path === `/${name}`);
      this.#hold(problem === undefined, 'shape', name, problem?.message ?? '', item[name]);
    }
    if ('queued_at' in this.#fields())
      judgeMoments(item, this.#record, this.#answer.model.latest, (isRight, isStrict, expected) =>
        this.#hold(isRight, isStrict ? 'moment' : 'odd-moment', '', expected, item, UNSURE),
      );
    const isOver = activity === 'removing' || activity === 'archived';
    const expected = 'archived or removing, as it has failed';
    if (error === 'failed') this.#hold(isOver, 'failed', 'activity_status', expected, activity);
  }

  #member(name: string, value: unknown): void {
    const [kind, record, { version, seen, exchange }] = [this.#kind, this.#record, this.#answer];
    // Keeps a first value of an older version apart, because that version may replace a value that it does not define.
    const isOwn = version !== NEWEST_VERSION && VERSIONED.has(name) && !record.members.has(name);
    const member = isOwn ? `${name} in ${version}` : name;
    const known = record.members.get(member);
    if (known === undefined) {
      if (!isOwn || HOLDINGS[kind].get(name) === 'fixed') record.members.set(member, { value, seen, ask: exchange });
      return;
    }
    // Skips a value that an older version does not define and may replace, and both statuses of a deployment with such
    // an activity.
    const isStatus = kind === 'deployment' && (name === 'status' || name === 'activity_status');
    const activity = record.members.get('activity_status')?.value;
    const isOpen = isStatus && !knows(kind, 'activity_status', version, activity);
    if (isOpen || !knows(kind, name, version, known.value)) return;
    const isWritten = known.predicted === true;
    const isRight = isSame(known.value, value) || (isWritten && containsValue(known.value, value));
    const { format } = isObject(known.value) ? known.value : {};
    const about = {
      isWritten,
      member,
      path: `${this.#place.path}/${name}`,
      earlier: known.seen,
      certain: kind === 'deployment' && UNCHANGING.some((each) => each === name) && !isWritten,
    };
    const from = isWritten ? 'as it was written' : 'as it was shown before';
    const expected = () => `${name} ${JSON.stringify(known.value)} of ${record.id}, ${from}`;
    if (name === 'content' && typeof format === 'string') {
      // A platform may store parsed content, which loses comments: only another format is certainly wrong.
      const isOfFormat = !isObject(value) || (value['format'] ?? format) === format;
      const path = `${about.path} in ${format}`;
      this.#hold(isOfFormat, 'value', name, expected, value, { ...about, path });
      if (!isOfFormat) return;
    }
    this.#hold(isRight, 'value', name, expected, value, about);
    if (isRight && isWritten) record.members.set(name, { ...known, value });
  }

  /** Judges members that later versions added or removed (section 9). */
  #older(): void {
    const [item, { version }, documented] = [this.#item, this.#answer, this.#fields()];
    for (const name of Object.keys(this.#fields(NEWEST_VERSION)))
      if (!(name in documented))
        this.#hold((item[name] ?? null) === null, 'unasked', name, `no ${name} in ${version}`, item[name]);
    if (this.#place.name !== 'read') return;
    for (const name of ['instance_slots', 'instance_filepath'])
      if (name in documented && this.#record.members.get(name)?.predicted === true)
        this.#hold(item[name] !== undefined, 'lacking', name, `${name} in ${version}`, item, UNSURE);
  }

  #forward(): void {
    const [item, record] = [this.#item, this.#record];
    if (this.#answer.version !== NEWEST_VERSION) return;
    record.mayBeDeployed ||= item['target_status'] === 'deployed';
    for (const [name, ranks] of Object.entries(RANKS)) {
      const rank = ranks[String(item[name])];
      if (rank === undefined) continue;
      const before = record.reached.get(name);
      record.reached.set(name, Math.max(rank, before ?? rank));
      if (before === undefined || !record.isOurs) continue;
      const expected = `${name} only to move forward: ${Object.keys(ranks).join(' → ')}`;
      this.#hold(rank >= before, 'backwards', name, expected, item[name], UNSURE);
    }
  }

  /** Expects a member in all answers of one kind and in all versions that have it, or in none. */
  #presence(): void {
    const { model, version, seen } = this.#answer;
    if (isBeyond(this.#record, version)) return;
    for (const name of Object.keys(this.#fields())) {
      const key = `${this.#kind} ${this.#place.name} ${name}`;
      const known = model.presence.get(key) ?? { shown: new Map(), lacking: new Map() };
      model.presence.set(key, known);
      const value = this.#item[name];
      // A member that was null, or never shown, may be missing.
      const before = this.#record.members.get(name)?.value ?? null;
      if (value === null || (value === undefined && before === null)) continue;
      const isThere = value !== undefined;
      const [own, other] = isThere ? [known.shown, known.lacking] : [known.lacking, known.shown];
      if (!own.has(version)) own.set(version, seen);
      const [[contrary, earlier] = []] = other.entries();
      const [where, lacks] = isThere ? [version, contrary] : [contrary, version];
      const expected = `${name} in ${lacks}, as in ${where}`;
      this.#hold(contrary === undefined, 'lacking', name, expected, `no ${name} in ${lacks}`, { earlier });
      other.clear();
    }
  }

  #expansion(name: string): void {
    const expansion = RESOURCES[this.#kind].expansions[name];
    if (expansion === undefined || (!HOLDINGS[this.#kind].has(name) && NAMED_BY[name] === undefined)) return;
    const below = this.#place.expand.filter((each) => each === name || each.startsWith(`${name}.`));
    if (below.length === 0 || !inVersion(expansion, this.#answer.version)) this.#unasked(name);
    else this.#expanded(name, below);
  }

  /** Expects no expansion without a request, unless the platform always shows it. */
  #unasked(name: string): void {
    const [value, { model, seen }] = [this.#item[name], this.#answer];
    if (value === null || this.#fields()[name] !== undefined) return;
    const asked = `unasked ${this.#kind}.${name}`;
    const answer = value === undefined ? 'omitted' : 'shown';
    const earlier = CURRENT.test(name) ? NO_CURRENT : model.adoptions.take(asked, answer, seen);
    if (earlier === undefined && value !== undefined && RESOURCES[this.#kind].expansions[name]?.kind === undefined)
      this.#member(name, value);
    const isRight = earlier === undefined || earlier.answer === answer;
    if (!isRight && answer === 'omitted') model.adoptions.replace(asked, answer, seen);
    const expected = `no ${name}, which nobody asked to be expanded`;
    this.#hold(isRight, 'unasked', name, expected, value ?? `${name} earlier`, { earlier: earlier?.seen });
  }

  #expanded(name: string, below: readonly string[]): void {
    const [value, { exchange, model, version }] = [this.#item[name] ?? undefined, this.#answer];
    // An expansion may need a scope that the key lacks, and a write may expand nothing.
    const isOpen = exchange.key === 'limited' ? value === undefined : this.#place.name === 'write';
    if (isOpen && typeof value !== 'object') return;
    const { kind, many } = RESOURCES[this.#kind].expansions[name] ?? {};
    const isPromised = model.serves(kind, version) && model.notations.has(notationOf(exchange));
    const id = NAMED_BY[name];
    const named = this.#item[id ?? ''];
    const isCurrent = CURRENT.test(name);
    // A current deployment may end at any time.
    const due = named ?? (isCurrent ? undefined : this.#record.members.get(name)?.value) ?? undefined;
    if (this.#kind === 'device' && isCurrent) this.#current(name, isPromised);
    if (due !== undefined || value !== undefined) this.#served(name, value !== undefined);
    if (value === undefined && id !== undefined && this.#item[name] === null && isPromised)
      this.#hold(due === undefined, 'expansion', name, `${name} ${due}`, null, UNSURE);
    if (value === undefined) return;
    if (kind === undefined) return void this.#member(name, value);
    const path = `${this.#place.path}/${name}`;
    const expand = below.flatMap((each) => (each === name ? [] : [each.slice(name.length + 1)]));
    const inner: Place = { kind, path, expand, name: `${this.#kind}.${name} in a ${this.#place.name}` };
    if (many === true) {
      this.#hold(Array.isArray(value), 'shape', name, 'an array', value);
      if (!Array.isArray(value)) return;
      this.#member(name, value.map((each: unknown) => (isObject(each) ? each['id'] : each)).sort());
      for (const each of value) judgeAt(this.#answer, each, { ...inner, path: `${path}/-` });
    } else if (id === undefined) {
      if (isObject(value)) this.#member(name, value['id']);
      judgeAt(this.#answer, value, inner);
    } else if (named === null) this.#hold(false, 'expansion', name, 'null', value, UNSURE);
    else judgeAt(this.#answer, value, { ...inner, due: due as string | undefined });
  }

  /**
   * Judges the current deployment and release of a device (section 9). A missing one counts only in a read of one
   * device, because no section shows them in lists.
   */
  #current(name: string, isPromised: boolean): void {
    const [value, { exchange, model }] = [this.#item[name], this.#answer];
    const deployed = model.of('deployment').find(({ members }) => {
      const is = (each: string, due: string): boolean => members.get(each)?.value === due;
      return is('device_id', this.#item.id) && is('activity_status', 'deployed') && is('target_status', 'deployed');
    });
    const isRead = this.#place.expand.includes(name) && notationOf(exchange) === 'alone' && this.#place.name === 'read';
    const due = `${name}, as ${deployed?.id} is deployed on that device`;
    if (isRead && isPromised && deployed?.members.get('error_status')?.value === 'none')
      this.#hold(isObject(value), 'expansion', name, due, value ?? 'nothing', { ...UNSURE, restsOn: deployed.id });
    const isAlone = name === 'current_release' && this.#item['current_deployment'] === null;
    if (isObject(value) && isAlone && this.#place.expand.includes('current_deployment'))
      this.#hold(false, 'inactive', name, 'no release, as there is no current deployment', value['id'], UNSURE);
    if (!isObject(value) || name !== 'current_deployment') return;
    model.saw('expanded deployments');
    const { device_id: device = this.#item.id } = value;
    const own = `a deployment of ${this.#item.id}`;
    this.#hold(device === this.#item.id, 'expansion', name, own, device, UNSURE);
    const release = this.#item['current_release'];
    const isOther = isObject(release) && release['id'] !== value['release_id'];
    const activity = String(value['activity_status']);
    const isActive = activity !== 'archived' && activity !== 'staged';
    const expected = 'a deployment that is active on the device, and its release';
    this.#hold(!isOther && isActive, 'inactive', name, expected, isOther ? release['id'] : activity, UNSURE);
  }

  #served(name: string, isShown: boolean): void {
    const { model, exchange, seen } = this.#answer;
    if (!model.notations.has(notationOf(exchange))) return;
    const way = this.#place.expand.includes(name) ? 'by its name' : 'as a part of a nested one';
    const asked = `${this.#kind}.${name} in a ${this.#place.name}, ${way}`;
    const earlier = model.adoptions.take(asked, isShown ? 'shown' : 'absent', seen);
    if (earlier !== undefined) model.adoptions.replace(asked, 'shown', seen);
    const expected = `${name} to be expanded ${isShown ? 'there too, as it is here' : 'as it is in other answers'}`;
    const actual = `no ${name}${isShown ? ' earlier' : ''}`;
    this.#hold(earlier === undefined, 'expansion', name, expected, actual, { earlier: earlier?.seen });
  }
}

const CURRENT = /^current_/;
const NO_CURRENT = { answer: 'omitted', seen: undefined };

/** Values that older versions do not define (section 9). */
const FOREIGN: Readonly<Record<string, string>> = {
  'deployment.activity_status': 'removing',
  'deployment.status': 'removing',
  'device.status': 'archived',
};

/** Order of the states; a staged deployment may drift and be staged again. */
const RANKS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  target_status: { staged: 0, deployed: 1, archived: 2 },
  activity_status: { staged: 0, drifted: 0, queued: 1, deployed: 2, removing: 3, archived: 4 },
};

const VERSIONED = new Set(['status', 'activity_status', 'instance_filepath', 'language', 'format']);
